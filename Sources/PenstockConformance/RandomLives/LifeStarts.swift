import PenstockCore

/// When messages have started in a random life, as long as the rates of their queues have been the same.
struct LifeStarts {
    private struct Line: Hashable {
        var queue: QueueName
        /// `nil`: the whole queue.
        var group: String?
    }

    private var starts: [Line: [BootTime]] = [:]

    /// Notes the messages of a claim. What no store may do is told.
    mutating func note(
        _ messages: [ClaimedMessage], of queue: QueueName, _ policy: QueuePolicy, at now: BootTime
    ) -> [String] {
        messages.flatMap { message in
            note(Line(queue: queue), policy.rate, at: now)
                + (message.group.map { note(Line(queue: queue, group: $0), policy.ratePerKey, at: now) } ?? [])
        }
    }

    /// Begins anew: a rate that is another one says nothing of what has started before.
    mutating func forget(_ queue: QueueName) {
        starts = starts.filter { $0.key.queue != queue }
    }

    private mutating func note(_ line: Line, _ rate: Rate?, at now: BootTime) -> [String] {
        guard let rate else { return [] }
        starts[line, default: []].append(now)
        return Invariants.rate(rate, starts[line] ?? [])
    }
}

extension QueueChange {
    /// Whether the rates may be others after it.
    var mayChangeRates: Bool {
        switch self {
        case .create, .set, .delete: true
        case .pause, .resume, .pauseGroup, .resumeGroup, .setGroupWeight: false
        }
    }
}
