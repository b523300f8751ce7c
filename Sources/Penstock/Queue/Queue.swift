public import PenstockCore

/// A queue of elements of one type.
///
/// Copies are the same queue, and so is what another process opens under the same name. Get one from
/// ``PenstockStore``; put elements in with `enqueue`, and take them out with a ``Worker`` or ``deliveries(inFlightMax:lease:)``.
public struct Queue<Element: Sendable>: Sendable {
    /// The queue's name.
    public let name: QueueName

    let codec: QueueCodec<Element>
    let handle: StoreHandle
    let metrics: QueueMetrics

    init(_ name: QueueName, codec: QueueCodec<Element>, handle: StoreHandle) {
        self.name = name
        self.codec = codec
        self.handle = handle
        metrics = handle.metrics(of: name)
    }

    var storage: any MessageStore { handle.storage }
}

/// What people do to a queue.
extension Queue {
    /// Refuses claims until ``resume()``, from every process. Messages are still accepted, and running ones go on.
    public func pause() async throws {
        try await storage.configure(name, .pause)
    }

    /// Allows claims again.
    public func resume() async throws {
        try await storage.configure(name, .resume)
    }

    /// Gives the queue another policy. What waits beyond a smaller capacity stays; it only keeps new messages out.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when a number is out of its range; `unknownLimit` when there is no limit of
    ///   the name that the policy shares.
    public func setPolicy(_ policy: QueuePolicy) async throws {
        try policy.validate()
        try await storage.configure(name, .set(policy))
    }

    /// Changes a part of the queue's policy. What others change meanwhile stays: `change` is then called again, with that.
    ///
    /// - Throws: what `change` throws, and `PenstockError` with code `invalidInput` when a number is out of its range.
    public func changePolicy(
        isolation: isolated (any Actor)? = #isolation, _ change: (inout QueuePolicy) throws -> Void
    ) async throws {
        while true {
            let before = try await status().policy
            var policy = before
            try change(&policy)
            try policy.validate()
            do {
                return try await storage.configure(name, .set(policy, replacing: before))
            } catch let error as PenstockError where error.code == .policyChanged {
                try Task.checkCancellation()
            }
        }
    }

    /// The queue's policy and numbers.
    public func status() async throws -> QueueStatus {
        let status = try await storage.status(of: name).queue(name)
        metrics.record(status, at: handle.time.now)
        return status
    }

    /// Cancels everything that waits, and asks the workers that have the rest to end, as ``PenstockStore/cancel(_:within:)`` does.
    ///
    /// - Parameter time: how long workers have to end.
    /// - Returns: how many messages that was.
    @discardableResult
    public func cancelAll(within time: Duration = Limits.cancelTime) async throws -> Int {
        let command = LineCommand.requestCancel(within: time)
        return try await storage.apply(command, to: .queue(name, states: command.states))
    }

    /// Keeps messages of a group from workers until ``resumeGroup(_:)``. Messages are still accepted, and running ones go on.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when the queue has no groups, or `key` is none.
    public func pauseGroup(_ key: String) async throws {
        try await storage.configure(name, .pauseGroup(key))
    }

    /// Lets workers have messages of a paused group again.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when `key` is the key of no group.
    public func resumeGroup(_ key: String) async throws {
        try await storage.configure(name, .resumeGroup(key))
    }

    /// Says how much a group weighs against the others in a queue that is shared fairly: of a group that weighs 3 three messages
    /// are worked while of others one is. It counts from the next message on that becomes ready.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when the queue is not shared fairly, `key` is the key of no group, or the
    ///   weight is not 1 to 1000.
    public func setWeight(_ weight: Int, ofGroup key: String) async throws {
        try await storage.configure(name, .setGroupWeight(key, weight))
    }

    /// The groups that have permits or wait for one, are paused or put off, or weigh more than 1: up to `limit` of them after the key `after`, in the
    /// order of bytes.
    public func groups(after: String? = nil, limit: Int = 100) async throws -> [GroupRecord] {
        try await storage.groups(GroupQuery(queue: name, after: after, limit: limit))
    }

    /// Puts dead letters back in line with new attempts, oldest first. Those whose unique keys other messages have are passed over.
    ///
    /// - Parameter limit: how many at most; `nil`: all.
    /// - Returns: how many.
    @discardableResult
    public func redriveAll(limit: Int? = nil) async throws -> Int {
        try await storage.apply(.redrive, to: .queue(name, states: [.dead], limit: limit))
    }

    /// Cancels everything that waits, for a worker, for its time or for other messages. What runs goes on.
    ///
    /// - Returns: how many messages that was.
    @discardableResult
    public func purge() async throws -> Int {
        try await storage.apply(.cancel, to: .queue(name, states: [.pending, .scheduled, .blocked, .ready]))
    }
}
