import Foundation
import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/queues/NAME/policy`: what a queue is told.
struct PolicyPages {
    func add(to routes: Routes) {
        routes.get("/queues/:queue/policy", show)
        routes.post("/queues/:queue/policy", change)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        try visit.requireAct(.operate, queue)
        let policy = try await Self.policy(of: queue, visit)
        return visit.page(
            "policy", "Policy of \(queue)", in: .overview,
            [
                "name": queue.text, "link": Link.queue(queue), "policy": PolicyForm.fields(policy),
                "shown": try Self.mark(policy),
            ])
    }

    @Sendable private func change(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(PolicyForm.names.union(["shown"]))
        let policy = try PolicyForm.policy(form)
        let said = try await visit.act("set policy", on: queue.text, queue: queue, .operate) {
            let old = try await Self.policy(of: queue, visit)
            // Whoever fills in the form has seen one policy. Another one may be there by now, and is not undone.
            guard form.text("shown") == (try Self.mark(old)) else {
                throw PenstockError(
                    .policyChanged, "The policy of '\(queue)' was changed meanwhile; look at it, and change that one.")
            }
            try visit.principal.requireSharing(policy.sharedLimit, insteadOf: old.sharedLimit)
            try await visit.site.store.storage.configure(queue, .set(policy, replacing: old))
            return "The queue '\(queue)' has its new policy."
        }
        return visit.redirect(to: Link.queue(queue), saying: said)
    }

    private static func policy(of queue: QueueName, _ visit: Visit) async throws -> QueuePolicy {
        try await visit.site.store.storage.status(of: queue).queue(queue).policy
    }

    /// What tells one policy from another.
    private static func mark(_ policy: QueuePolicy) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(policy), as: UTF8.self)
    }
}
