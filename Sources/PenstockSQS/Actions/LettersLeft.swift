import PenstockCore

/// Why letters stay in a dead-letter queue, for those that ask how a move task went.
extension Call {
    /// How many of the messages that wait are looked at together, and how often.
    private static let lookedAt = 100
    private static let looksMax = 10

    /// Why letters that were in the dead-letter queue when `task` began still wait there, though it has claimed all that it was given.
    /// The messages that it holds, `others` in number, do not wait.
    ///
    /// - Returns: `nil` when there is no letter among the first thousand messages that wait.
    func whyLettersWait(
        after task: MoveTasks.MoveTask, of sources: [QueueName: QueueSettings], holding others: Int
    ) async throws -> String? {
        var query = MessageQuery(
            queue: task.source, states: [.scheduled, .blocked, .ready], limit: Self.lookedAt)
        for _ in 0..<Self.looksMax {
            let page = try await store.messages(query)
            // What has come since then is the next task's.
            let waiting = page.records.filter { $0.enqueuedAt <= task.startedAt }
            let homes = try await homes(of: waiting, among: sources)
            let letters = waiting.filter { homes[$0.sequence] != nil }
            if !letters.isEmpty {
                guard let queue = try await directory.find(task.source) else { return nil }
                return Self.reason(of: queue, areDue: letters.contains { $0.state != .scheduled }, holding: others)
            }
            guard let next = page.next else { return nil }
            query.after = next
        }
        return nil
    }

    private static func reason(of queue: QueueSettings, areDue: Bool, holding others: Int) -> String {
        if queue.isPaused {
            return "Letters stay here, as the queue '\(queue.name)' is paused; resume it and start another task."
        }
        if !areDue { return "Letters stay here that are not due yet; start another task when they are." }
        if others >= othersMax {
            return "Letters stay here behind \(othersMax) messages that are not moved; take those out of the queue."
        }
        let policy = queue.policy
        if policy.rate != nil || policy.ratePerKey != nil || policy.limit != nil || policy.sharedLimit != nil {
            return
                "Letters stay here, as the queue's rate or limit lets no more of them start now; start another task later."
        }
        if policy.groups != nil {
            return "Letters stay here, as their groups are paused, or have other messages with workers or before them."
        }
        return "Letters stay here that somebody else had received meanwhile; start another task."
    }
}
