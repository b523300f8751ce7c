import Hummingbird
import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Call {
    func getQueueAttributes() async throws -> Response {
        let input = try input(AttributesInput.self)
        let queue = try queue(input.QueueUrl, for: .read)
        let names = input.AttributeNames ?? []
        if let unknown = names.first(where: { $0 != "All" && !QueueAttributes.isKnown($0) }) {
            throw Refusal("InvalidAttributeName", "Unknown Attribute \(Escape.text(unknown)).")
        }
        let settings = try await directory.read(queue)
        if names.isEmpty { return .amazonEmpty }
        let countsDead = names.contains("All") || names.contains("ApproximateNumberOfMessages")
        let dead = try await countsDead ? directory.deadOfSources(of: queue) : 0
        var attributes = settings.attributes(deadOfSources: dead, arn: arn(queue))
        if !names.contains("All") { attributes = attributes.filter { names.contains($0.key) } }
        return .amazonJSON(attributes.isEmpty ? .object([]) : .object(["Attributes": .texts(attributes)]))
    }

    /// Sets attributes. What Penstock's own policy says goes into that, and the rest into the queue's note.
    func setQueueAttributes() async throws -> Response {
        let input = try input(SetAttributesInput.self)
        let queue = try queue(input.QueueUrl, for: .operate)
        guard let given = input.Attributes, !given.isEmpty else { throw Refusal.missing("Attributes") }
        let settings = try await directory.read(queue)
        let attributes = try QueueAttributes.normalized(given, isFifo: settings.isFifo)
        let redrive = try await checkedTarget(attributes["RedrivePolicy"], isFifo: settings.isFifo)
        try await directory.change(queue) { note in
            note.set(attributes, now: directory.time.now)
        }
        if attributes["RedrivePolicy"] != nil {
            try await setAttempts(redrive?.receiveCountMax ?? Limits.attemptsRange.upperBound, of: queue)
        }
        return .amazonEmpty
    }

    /// Changes how often a message of the queue may be received, and nothing else that somebody may be changing.
    private func setAttempts(_ count: Int, of queue: QueueName) async throws {
        defer { directory.forget(queue) }
        while true {
            let policy = try await directory.read(queue).policy
            if policy.retry.attemptsMax == count { return }
            var changed = policy
            changed.retry.attemptsMax = count
            do {
                return try await store.configure(queue, .set(changed, replacing: policy))
            } catch let error as PenstockError where error.code == .policyChanged {
                try Task.checkCancellation()
            }
        }
    }
}
