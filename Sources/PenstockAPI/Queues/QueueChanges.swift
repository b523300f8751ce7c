import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/queues/{queue}`: making, changing, pausing, emptying and removing queues.
struct QueueChanges: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.put("queues/:queue", use: put)
        v1.patch("queues/:queue", use: patch)
        v1.act("queues/:queue", method: .delete, use: delete)
        v1.post("queues/:queue/pause") { try await change($0, $1, .pause) }
        v1.post("queues/:queue/resume") { try await change($0, $1, .resume) }
        v1.post("queues/:queue/purge", use: purge)
    }

    /// Makes a queue. One that is there with this policy is what was asked for.
    @Sendable private func put(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try operated(request, context)
        let policy = try await request.json(PolicyEntry.self, as: "The policy").applied(to: QueuePolicy())
        try context.principal.requireSharing(policy.sharedLimit, insteadOf: nil)
        do {
            try await store.storage.configure(queue, .create(policy, ifAbsent: false))
            return .json(try await store.status(of: queue).json, status: .created)
        } catch let error as PenstockError where error.code == .queueExists {
            let status = try await store.status(of: queue)
            if status.policy == policy { return .json(status.json) }
            throw Problem(
                .conflict, code: error.code.rawValue,
                "There is a queue '\(queue)' with another policy; PATCH changes what it is to change.")
        }
    }

    /// Changes a part of a policy. What others change meanwhile stays.
    @Sendable private func patch(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try operated(request, context)
        let change = try await request.json(PolicyEntry.self, as: "The policy")
        while true {
            let before = try await store.status(of: queue).policy
            let after = try change.applied(to: before)
            try context.principal.requireSharing(after.sharedLimit, insteadOf: before.sharedLimit)
            do {
                try await store.storage.configure(queue, .set(after, replacing: before))
                return .json(try await store.status(of: queue).json)
            } catch let error as PenstockError where error.code == .policyChanged {
                try Task.checkCancellation()
            }
        }
    }

    @Sendable private func delete(_ request: Request, _ context: ServerContext) async throws {
        let parameters = try QueryParameters(request, known: ["force"])
        let queue = try context.queue(for: .operate)
        try await store.delete(queue, force: try parameters.flag("force"))
    }

    private func change(_ request: Request, _ context: ServerContext, _ change: QueueChange) async throws -> Response {
        let queue = try operated(request, context)
        try await store.storage.configure(queue, change)
        return .json(try await store.status(of: queue).json)
    }

    /// Cancels all that waits.
    @Sendable private func purge(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try operated(request, context)
        let count = try await store.storage.apply(
            .cancel, to: .queue(queue, states: [.pending, .scheduled, .blocked, .ready]))
        return .json(.object(["cancelled": .integer(count)]))
    }

    private func operated(_ request: Request, _ context: ServerContext) throws -> QueueName {
        try request.refuseParameters()
        return try context.queue(for: .operate)
    }
}
