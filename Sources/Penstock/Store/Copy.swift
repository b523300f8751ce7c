public import PenstockCore
internal import PenstockSQL

extension PenstockStore {
    /// Moves house: copies all queues into another store, with their settings, schedules, workflows and messages, and closes this one for
    /// producers and workers. Files and databases can be copied into each other.
    ///
    /// ```swift
    /// let report = try await old.copy(to: new, StoreCopy(source: "shop.db", target: "the database"))
    /// print("\(report.total) messages have moved")
    /// ```
    ///
    /// Before anything is copied this store is closed, by a row in it: from then on every other call that would write throws `storeMoved`,
    /// in whatever process and however long that has had it open. Reading goes on. The queues open in the target all at once, when all of
    /// it is there and was counted in both. A call that is interrupted, by whatever means, can be made again, and goes on from where it was:
    /// nothing comes twice, and nothing is left out. ``cancelCopy(into:force:)`` opens this store again.
    ///
    /// A target that was new has the messages with their sequence numbers. In another one all of them are higher by the same number, and the
    /// view `penstock_origins` says which each had.
    ///
    /// - Parameters:
    ///   - target: where the queues go. It has none of the same names, nor schedules or workflows of the same names. A workflow that was started
    ///     without a name is named anew there, if its name is taken.
    ///   - copy: what is copied, and what the two stores are called.
    ///   - progress: is told after each step how far it has come.
    /// - Returns: what is there now.
    /// - Throws: `PenstockError` with code `invalidInput` when both are one store, or one is at a server or in memory; `busy` when workers
    ///   have messages, or another call copies as well; `queueExists` when the target has something of the same name, or what an unfinished
    ///   copy of this store has brought that called it otherwise; `queueDeleting` when the deletion of a queue is not finished: then nothing
    ///   has begun. `storeMoved` when the queues go to a third store. `corrupt` when the
    ///   counts differ at the end; and what the stores report. Then this store stays closed.
    @discardableResult
    public func copy(
        to target: PenstockStore, _ copy: StoreCopy, progress: @Sendable (CopyProgress) async -> Void = { _ in }
    ) async throws -> CopyReport {
        try await sqlStore(copy.source).copy(to: try target.sqlStore(copy.target), copy, progress: progress)
    }

    /// What ``copy(to:_:progress:)`` would bring along, counted by what counts it there.
    ///
    /// - Parameter withLog: ``StoreCopy/withLog``.
    package func copyForecast(withLog: Bool) async throws -> [CopyReport.Queue] {
        try await sqlReading("The source").copyForecast(withLog: withLog)
    }

    /// Throws `queueExists` when ``copy(to:_:progress:)`` into `target` would, before it begins. Both stores may be open to be read only.
    package func refuseCopy(into target: PenstockStore, _ copy: StoreCopy) async throws {
        try await sqlReading("The source").refuseCopy(into: try target.sqlReading(copy.target), copy)
    }

    /// Gives up a move that ``copy(to:_:progress:)`` has begun, and opens this store again for producers and workers.
    ///
    /// Once this store says that it has moved, its queues may be open in the target, and each message would be worked twice. So a move
    /// that has come so far is given up with the target, which is looked at: what has come there is removed, if it is not open; or its
    /// queues have been deleted there.
    ///
    /// - Parameters:
    ///   - target: where the queues went. `nil`: what has come there stays, and takes and gives nothing; for moves that have not come so far.
    ///   - force: without a target: whether this store is opened though its queues have moved, as when the target is lost.
    /// - Returns: what the target was called; `nil`: no move had begun.
    /// - Throws: `PenstockError` with code `illegalTransition` when the queues may be open in the target, or went to another one; then this
    ///   store is as it was.
    @discardableResult
    public func cancelCopy(into target: PenstockStore? = nil, force: Bool = false) async throws -> String? {
        try await sqlStore("The source").cancelCopy(into: try target?.sqlStore("The target"), force: force)
    }

    private func sqlReading(_ name: String) throws -> any SQLReading {
        guard let store = storage as? any SQLReading else {
            throw PenstockError(.invalidInput, "\(name) is no file and no database, and so cannot be copied.")
        }
        return store
    }

    private func sqlStore(_ name: String) throws -> any SQLStore {
        guard let store = storage as? any SQLStore else {
            throw PenstockError(
                .invalidInput, "\(name) is no file and no database that is open for writing, and so cannot be copied.")
        }
        return store
    }
}
