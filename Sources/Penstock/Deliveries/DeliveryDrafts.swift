public import GRDB
internal import Metrics
public import PenstockCore
internal import PenstockSQLite

/// Handing on: what follows a message is in line when the message is done, and only then.
extension Delivery {
    /// Says that the message is finished, and puts what follows it in line, in one transaction: whatever dies when, each message
    /// is followed once.
    ///
    /// ```swift
    /// try await delivery.done(then: [thumbnails.draft(picture)])
    /// ```
    ///
    /// - Parameters:
    ///   - drafts: what is enqueued, in this order, for as many queues as there are; see ``Queue/draft(_:options:)-(Element,_)``. It is as
    ///     durable as the verdict: a loss of power may take both back, and then the message comes again.
    ///   - timeout: how long to wait for room in queues whose policy is `wait`; `nil`: as long as the lease is held. In the
    ///     delivery's own queue, and in others that its worker works, there is no wait, and `queueFull` is thrown: all their
    ///     workers could wait for each other.
    /// - Throws: as ``done()``; `PenstockError` with code `unknownQueue`, `queueDeleting`, `queueFull`, `timedOut`, or `invalidInput`
    ///   when a draft is out of range or has a unique key. After each of these the message is not settled.
    public func done(then drafts: [Draft], timeout: Duration? = nil) async throws {
        try await done(Settlement(lease, .done, drafts: drafts), timeout)
    }

    /// Says that the message is finished and what it gave, and puts what follows it in line: all of it, or nothing.
    ///
    /// It does as ``done(result:)`` and ``done(then:timeout:)``.
    public func done(result: some Encodable, then drafts: [Draft], timeout: Duration? = nil) async throws {
        try await done(Settlement(lease, .done, result: ResultCodec.encode(result), drafts: drafts), timeout)
    }

    /// Says that the message is finished and puts what follows it in line, within an application's own transaction. A full queue
    /// whose policy is `wait` cannot wait here, and fails as `fail` does.
    ///
    /// It does as ``done(in:)`` and ``done(then:timeout:)``.
    public func done(then drafts: [Draft], in database: Database) throws {
        try done(then: drafts, joining: PoolTransaction(holder.handle.storage, database))
    }

    /// The same for a transaction of whatever engine.
    package func done(
        result: [UInt8]? = nil, then drafts: [Draft] = [], joining transaction: some ApplicationTransaction
    ) throws {
        try settle(Settlement(lease, .done, result: result, drafts: drafts), joining: transaction)
        // Counted now, though the transaction may still be rolled back: it is the caller's.
        count(drafts.map(\.queue))
    }

    /// Says that the message is finished, what it gave and what follows it, as a worker says it: when the store fails in a way that
    /// may pass, this tries again while the lease lives, as what the message's work has done would be done again. It waits for
    /// room as long, also in queues whose policy is `fail`. A lease that is gone after a try of which nobody knows is told in the log
    /// alone: that try may have been what settled it. Where the store can take nothing at all the message comes back when its lease ends,
    /// and the handler that throws this error has not failed.
    ///
    /// - Throws: as ``done(then:timeout:)``, what the store threw at the last try; `queueFull` when there can never be room.
    package func doneWhileHeld(result: [UInt8]? = nil, then drafts: [Draft] = []) async throws {
        do {
            try await settleWhileHeld(Settlement(lease, .done, result: result, drafts: drafts))
        } catch let error as PenstockError where error.isOfUnusableStore {
            holder.letLapse(claimed, after: error)
            throw error
        }
    }

    private func settleWhileHeld(_ settlement: Settlement) async throws {
        let drafts = settlement.drafts
        if drafts.isEmpty {
            try await holder.settleWhileHeld(settlement)
            return
        }
        let wait = RoomWait(
            holder.handle, drafts: drafts, own: holder.queues, outwaitsFail: true, loss: holder.loss(of: lease))
        let state = try await wait.offer(nil) { [holder] in
            try holder.requireHeld(settlement.lease)
            return try await holder.settleWhileHeld(settlement)
        }
        if state != nil { count(drafts.map(\.queue)) }
    }

    /// Settles once there is room for what comes into line with it.
    func done(_ settlement: Settlement, _ timeout: Duration?) async throws {
        let tasks = settlement.added?.tasks ?? []
        let wait = RoomWait(
            holder.handle, tasks: tasks, drafts: settlement.drafts, own: holder.queues, loss: holder.loss(of: lease))
        _ = try await wait.offer(timeout) {
            try holder.requireHeld(settlement.lease)
            try await settle(settlement)
        }
        count(tasks.map(\.queue) + settlement.drafts.map(\.queue))
    }

    private func count(_ enqueued: [QueueName]) {
        for (queue, messages) in Dictionary(grouping: enqueued, by: \.self) {
            holder.handle.metrics(of: queue).enqueued.increment(by: messages.count)
        }
    }
}
