import PenstockCore
import PenstockFormats

/// A queue as clients of Amazon SQS see it: what they have said of it, and what Penstock knows.
struct QueueSettings: Sendable {
    var name: QueueName
    var policy: QueuePolicy
    var depths: Depths
    /// Whether claims are refused for now.
    var isPaused: Bool
    /// The newest note; `nil`: nobody has said anything.
    var version: NoteVersion?
    /// Older versions that are left.
    var olderVersions: [Int] = []

    var note: QueueNote { version?.note ?? QueueNote() }

    init(_ status: QueueStatus, _ cursors: [CursorRecord]) {
        name = status.name
        policy = status.policy
        depths = status.depths
        isPaused = status.isPaused
        let versions = NoteVersion.all(
            in: cursors.filter { $0.queue == status.name }, isFifo: Self.isFifo(status.name, status.policy)
        ).sorted { $0.number < $1.number }
        version = versions.last
        olderVersions = versions.dropLast().map(\.number)
    }

    /// Whether its messages have groups that are kept in order.
    var isFifo: Bool { Self.isFifo(name, policy) }

    private static func isFifo(_ name: QueueName, _ policy: QueuePolicy) -> Bool {
        if case .fifo = policy.groups { name.text.hasSuffix(".fifo") } else { false }
    }

    /// A number among the attributes.
    func number(_ name: String) -> Int {
        note.attributes[name].flatMap { Int($0) } ?? QueueAttributes.numbers[name]?.otherwise ?? 0
    }

    /// Whether it drops a message, that one or another, for each that comes while it is full.
    var dropsWhenFull: Bool {
        switch policy.capacity?.whenFull {
        case .dropNewest, .dropOldest: true
        case .fail, .wait, nil: false
        }
    }

    /// How many messages have room by what is known of it.
    var roomLeft: Int {
        guard let capacity = policy.capacity else { return .max }
        let (left, overflow) = capacity.count.subtractingReportingOverflow(depths.waiting)
        return overflow ? 0 : max(0, left)
    }

    /// How long a message may wait to be received; `nil`: for as long as it takes, as nobody has said otherwise.
    var expiry: Expiry? {
        note.attributes["MessageRetentionPeriod"].flatMap { Int64($0) }.map { .after(.seconds($0)) }
    }

    /// When a message that is sent now is due, and how long that is from now: after its own delay, and in a queue in order after those
    /// that were sent under a longer delay. `nil`: at once.
    func due(after seconds: Int, now: Timestamp) -> (due: Due, wait: Duration)? {
        let delay = Duration.seconds(seconds)
        if isFifo, let until = note.delayedUntil {
            let moment = Timestamp(microseconds: until * 1_000_000)
            let wait = moment - now
            // A note from before the clock was set back says nothing.
            if wait > delay, wait <= QueueNote.delayMax { return (.at(moment), wait) }
        }
        return seconds > 0 ? (.after(delay), delay) : nil
    }

    /// Where its dead letters go. How often a message may be received is what the queue's own policy says, whoever has set it.
    var redrivePolicy: RedrivePolicy? {
        guard let text = note.attributes["RedrivePolicy"], var policy = try? RedrivePolicy(text) else { return nil }
        policy.receiveCountMax = self.policy.retry.attemptsMax
        return policy
    }

    /// Whether its dead letters go to that queue. Names are the same when their bytes are.
    func isSource(of queue: QueueName) -> Bool {
        redrivePolicy.map { $0.target.utf8.elementsEqual(queue.text.utf8) } ?? false
    }

    /// Whether what a body says makes it the same as another.
    var deduplicatesByContent: Bool { note.attributes["ContentBasedDeduplication"] == "true" }

    /// Whether messages are the same only within their group.
    var deduplicatesByGroup: Bool { note.attributes["DeduplicationScope"] == "messageGroup" }

    /// All attributes but those that have no value.
    ///
    /// - Parameter deadOfSources: how many dead letters the queues have whose dead-letter queue this is.
    func attributes(deadOfSources: Int, arn: String) -> [String: String] {
        var all: [String: String] = [:]
        for (name, known) in QueueAttributes.numbers where name != "KmsDataKeyReusePeriodSeconds" {
            all[name] = String(known.otherwise)
        }
        for (name, known) in QueueAttributes.words where isFifo || !QueueAttributes.fifoOnly.contains(name) {
            all[name] = known.first
        }
        for (name, value) in note.attributes where !value.isEmpty { all[name] = value }
        all["RedrivePolicy"] = redrivePolicy?.text
        if isFifo { all["FifoQueue"] = "true" }
        all["QueueArn"] = arn
        all["ApproximateNumberOfMessages"] = String(depths.ready + depths.blocked + deadOfSources)
        all["ApproximateNumberOfMessagesDelayed"] = String(depths.scheduled)
        all["ApproximateNumberOfMessagesNotVisible"] = String(depths.leased)
        all["CreatedTimestamp"] = note.createdAt.map { String($0) }
        all["LastModifiedTimestamp"] = note.modifiedAt.map { String($0) }
        return all
    }
}
