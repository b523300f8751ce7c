public import PenstockCore

/// Moving house. Each step is a transaction of one of the two stores, and says in it how far the move has come:
///
/// | after a crash behind | the source | the target | the next call |
/// |---|---|---|---|
/// | nothing | is open | has nothing | begins |
/// | closing the source | is closed | has nothing | makes the queues in the target |
/// | making the queues, or a batch | is closed | has queues that are closed, and the place of the move | goes on from there |
/// | noting in the source that it has moved | is left | has all, and is closed | opens it |
/// | opening the target | is left | works | says what there was to copy |
///
/// The source is closed before anything is in the target, and both are never open: whoever cancels the move while it is under way ends
/// it, as each step looks whether the source is still closed by it, and the target opens last. Once the source says that it has moved
/// only a caller opens it who has closed the target first, for the target may be about to open.
extension SQLStore {
    /// Copies all queues into `target`, and closes this store for producers and workers before it begins. It can be interrupted in any
    /// way and called again.
    ///
    /// - Parameters:
    ///   - copy: what is copied.
    ///   - progress: is told how far it has come.
    /// - Returns: what was copied, counted in both stores.
    /// - Throws: `invalidInput` when both are one store, `busy` when workers have messages, `queueExists` when the target has something of
    ///   the same name, `storeMoved` when the queues go somewhere else, `corrupt` when the counts differ, and what the stores report.
    ///   All but the first three leave this store closed, until the call is made again or ``cancelCopy(into:force:)``.
    public func copy(
        to target: some SQLStore, _ copy: StoreCopy, progress: @Sendable (CopyProgress) async -> Void
    ) async throws -> CopyReport {
        let sourceID = try await core.writer.perform(durability: .powerLoss, duringMove: .all) {
            try StoreIdentity.give(in: $0)
        }
        let targetID = try await target.core.writer.perform(durability: .powerLoss) {
            try StoreIdentity.give(in: $0)
        }
        guard sourceID != targetID else {
            throw PenstockError(
                .invalidInput,
                "\(copy.source) and \(copy.target) are one store, or one is a copy of the other's file; name two stores."
            )
        }
        try await refuseClashes(target, copy, sourceID)
        let (moveID, isMoved) = try await close(copy, targetID)
        var arrival = try await target.snapshots.read { try Arriving.find(moveID, $0) }
        let withLog = arrival?.withLog ?? copy.withLog
        let expected = try await snapshots.read { try CopyCount.ofSource(withLog: withLog, $0) }
        if isMoved && arrival == nil {
            // It was being given up when the process ended, or the target is older than the move: nothing says that the messages are there.
            throw PenstockError(
                .illegalTransition,
                "\(copy.source) was left for \(copy.target), which knows nothing of it, as when it was being given up; look whether "
                    + "the messages are there, and if not, open \(copy.source) again with `penstock copy --cancel` and "
                    + "`--to`.")
        }
        if arrival?.isFinished == true {
            if !isMoved { try await markMoved(moveID) }
            return try await report(expected, offset: arrival?.sequenceOffset ?? 0, wasFinished: true)
        }
        try require(
            withLog || !copy.withLog,
            "This copy was begun without the log, and goes on without it; give it up with `penstock copy --cancel` and `--to`, and "
                + "begin it again with --log.")
        if arrival?.isBrokenOff == true { throw Arriving.brokenOff }
        if arrival == nil { arrival = try await begin(moveID, sourceID, in: target, copy) }
        guard let arrival else { throw PenstockError(.storage, "\(copy.target) does not know the move.") }
        let place: CopyBatch.Place
        do {
            place = try await takeAll(arrival, into: target, total: expected.total, progress)
        } catch {
            throw Arriving.translated(error, copy)
        }

        let found = try await target.snapshots.read { try CopyCount.ofTarget(moveID, $0) }
        if let difference = expected.difference(from: found) {
            throw PenstockError(
                .corrupt,
                "\(copy.source) and \(copy.target) do not have the same: \(difference); open the source again with `penstock copy "
                    + "--cancel` and `--to`, look at it with `penstock doctor`, and copy it anew.")
        }
        let opening = try await snapshots.read { try Arriving.Opening($0) }
        // The batches were not flushed, and the source is not to say that it was left for rows which are on no disk.
        try await target.core.writer.perform(durability: .powerLoss) {
            try Arriving.requireAll(moveID, at: place, opening, copy.target, in: $0)
        }
        // From here on a caller that cancels has to close the target before it opens the source.
        if !isMoved { try await markMoved(moveID) }
        try await snapshots.read { try Leaving.requireLeft(moveID, $0) }
        try await core.afterStep?()
        do {
            try await target.core.writer.perform(durability: .powerLoss, weight: 1 + opening.cascade.count) {
                try Arriving.finish(moveID, at: place, opening, copy.target, in: $0)
            }
        } catch {
            // That it was cancelled says more than that the target has no such move.
            try await snapshots.read { try Leaving.requireLeft(moveID, $0) }
            throw Arriving.translated(error, copy)
        }
        // Somebody may have said that the target is lost.
        try await snapshots.read { try Leaving.requireLeft(moveID, $0) }
        return try await report(expected, offset: arrival.sequenceOffset, wasFinished: false)
    }

    /// Gives up a move, and opens this store again.
    ///
    /// - Parameters:
    ///   - target: the store into which it went. What has come there is removed, if the move is not finished; `nil`: it stays, and takes
    ///     and gives nothing.
    ///   - force: without a target: whether this store is opened though its queues have moved and may be worked there, as when the target
    ///     is lost.
    /// - Returns: the store into which the queues went, as people are told of it; `nil`: no move had begun.
    /// - Throws: `illegalTransition` when the queues have moved and may be open where they are, or went to another store.
    @discardableResult
    public func cancelCopy(into target: (any SQLStore)?, force: Bool = false) async throws -> String? {
        guard let target else {
            return try await core.writer.perform(durability: .powerLoss, duringMove: .all) {
                try Leaving.open(closedThere: nil, force: force, in: $0)
            }?.target
        }
        let (sourceID, departure) = try await core.writer.perform(duringMove: .all) {
            (try StoreIdentity.give(in: $0), $0.departure)
        }
        let targetID = try await target.core.writer.perform(duringMove: .all) {
            try StoreIdentity.give(in: $0)
        }
        // Of another store nothing follows: in the right one the queues may be worked by now.
        if let departure, departure.targetID != targetID {
            throw PenstockError(
                .illegalTransition,
                "The queues go, or have gone, to \(departure.target), not to the store that is named; name that one, or none."
            )
        }
        let abandoned = try await removeAbandoned(from: sourceID, besides: nil, for: nil, in: target)
        try await core.afterStep?()
        // What was not given up just now was finished before, or has not come to the target yet, and may go all the way from now on. Of one
        // that had moved before all that the target will ever say of it is there by now.
        var closedThere: String?
        if let departure {
            let wasGivenUp = abandoned.contains(departure.moveID)
            if !wasGivenUp, try await isOpen(departure.moveID, in: target) { throw Arriving.finished }
            if wasGivenUp || departure.phase == .moved { closedThere = departure.moveID }
        }
        let cancelled = try await core.writer.perform(durability: .powerLoss, duringMove: .all) { [closedThere] in
            try Leaving.open(closedThere: closedThere, in: $0)
        }
        try await core.afterStep?()
        try await forget(abandoned, in: target)
        return cancelled?.target
    }

    // MARK: Steps

    /// Refuses before the source is closed what would be refused behind that.
    private func refuseClashes(_ target: some SQLStore, _ copy: StoreCopy, _ sourceID: StoreID) async throws {
        let moveID = try await core.writer.perform(duringMove: .all) { $0.departure?.moveID }
        if let moveID, try await target.snapshots.read({ try Arriving.find(moveID, $0) }) != nil { return }
        try await forget(try await removeAbandoned(from: sourceID, besides: moveID, for: copy, in: target), in: target)
        let names = try await snapshots.read { try CopiedNames($0) }
        try await target.snapshots.read { try names.refuseClashes(copy.target, $0) }
    }

    /// Closes the source, once workers have nothing more.
    private func close(_ copy: StoreCopy, _ targetID: StoreID) async throws -> (moveID: String, isMoved: Bool) {
        let (mayWait, start) = (copy.wait > .zero, core.time.boot)
        var hasReclaimed = false
        // The move that is waited for. One that somebody has given up meanwhile is not begun anew.
        var begun: String?
        while true {
            let step = try await core.writer.perform(durability: .powerLoss, duringMove: .all) { [begun] in
                try Leaving.close(copy, targetID: targetID, mayWait: mayWait, begun: begun, in: $0)
            }
            switch step {
            case .isClosed(let moveID):
                try await core.afterStep?()
                return (moveID, false)
            case .isMoved(let moveID): return (moveID, true)
            case .mustWait(_, let moveID) where !hasReclaimed:
                // What dead workers had is with nobody.
                _ = try await reclaim()
                hasReclaimed = true
                if mayWait { begun = moveID }
            case .mustWait(let leased, let moveID):
                let waited = core.time.boot.microseconds - start.microseconds
                guard mayWait, waited < copy.wait.wholeMicroseconds else {
                    throw try await waitNoLonger(copy, leased: leased, moveID)
                }
                try await core.time.sleep(for: .milliseconds(100))
                hasReclaimed = false
            }
        }
    }

    /// Opens the source again, if it was closed only to wait for its workers, and this call has waited.
    ///
    /// - Returns: what is thrown, as workers have so many messages still.
    private func waitNoLonger(_ copy: StoreCopy, leased: Int64, _ moveID: String?) async throws -> PenstockError {
        let messages = leased == 1 ? "1 message of \(copy.source) is" : "\(leased) messages of \(copy.source) are"
        guard let moveID else {
            return PenstockError(
                .busy,
                "\(messages) with workers; stop the workers, or give them some time with --wait. Nothing was begun.")
        }
        guard copy.wait > .zero else {
            return PenstockError(
                .busy,
                "\(messages) with workers, and nothing else is taken or given there since a copy with --wait was begun; "
                    + "call it with --wait again, or open the store with `penstock copy --cancel`.")
        }
        try await core.writer.perform(durability: .powerLoss, duringMove: .all) {
            try Leaving.open(unlessBeyondDraining: moveID, in: $0)
        }
        return PenstockError(
            .busy,
            "\(messages) with workers; stop the workers, or give them more time with --wait. The store is open again.")
    }

    private func begin(
        _ moveID: String, _ sourceID: StoreID, in target: some SQLStore, _ copy: StoreCopy
    ) async throws -> Arriving.Arrival {
        let settings = try await snapshots.read { try QueueSettings($0) }
        let arrival = try await target.core.writer.perform(durability: .powerLoss, weight: 1 + settings.queues.count) {
            try Arriving.begin(moveID, from: sourceID, copy, settings, in: $0)
        }
        try await core.afterStep?()
        return arrival
    }

    /// - Returns: the place behind the last batch.
    private func takeAll(
        _ arrival: Arriving.Arrival, into target: some SQLStore, total: Int,
        _ progress: @Sendable (CopyProgress) async -> Void
    ) async throws -> CopyBatch.Place {
        var place = arrival.place
        // What an earlier call has brought is there as well.
        var count = 0
        if place != CopyBatch.Place() {
            count = try await target.snapshots.read { try CopyCount.ofTarget(arrival.moveID, $0) }.total
        }
        while true {
            try Task.checkCancellation()
            let batch = try await snapshots.read { [place] in
                try Leaving.requireLeft(arrival.moveID, $0)
                return try CopyBatch.read(from: place, withLog: arrival.withLog, $0)
            }
            guard let batch else { return place }
            try await target.core.writer.perform(weight: 1 + batch.messages) {
                try Arriving.take(batch, of: arrival.moveID, in: $0)
            }
            place = batch.upTo
            count += batch.messages
            await progress(CopyProgress(messages: min(count, total), total: total))
            try await core.afterStep?()
        }
    }

    private func markMoved(_ moveID: String) async throws {
        try await core.writer.perform(durability: .powerLoss, duringMove: .all) { try Leaving.finish(moveID, in: $0) }
    }

    private func report(_ count: CopyCount, offset: Int64, wasFinished: Bool) async throws -> CopyReport {
        let setAside = try await snapshots.read { try $0.integer(LineInspection.countSetAside) ?? 0 }
        return CopyReport(
            queues: count.report, sequenceOffset: offset, setAside: Int(setAside), wasFinished: wasFinished)
    }

    /// Whether a move was finished in a target that still has one of the queues.
    private func isOpen(_ moveID: String, in target: some SQLStore) async throws -> Bool {
        let arrival = try await target.snapshots.read { try Arriving.find(moveID, $0) }
        guard arrival?.isFinished == true else { return false }
        let own = try await snapshots.read { try Leaving.queues($0) }
        return try await !target.snapshots.read { try Leaving.queues($0) }.isDisjoint(with: own)
    }

    /// Removes what came of moves that were cancelled in the source, or are being cancelled. Nobody could use it.
    ///
    /// - Parameter copy: for which it is removed; `nil`: somebody has asked for that.
    /// - Returns: the moves. Their own rows stay, so that no copy that is under way begins one of them anew.
    private func removeAbandoned(
        from sourceID: StoreID, besides moveID: String?, for copy: StoreCopy?, in target: some SQLStore
    ) async throws -> [String] {
        let found = try await target.snapshots.read { connection in
            if let copy { try Arriving.refuseOthers(copy, from: sourceID, besides: moveID, connection) }
            return try Arriving.abandoned(from: sourceID, besides: moveID, connection)
        }
        for abandoned in found {
            try await target.core.writer.perform(durability: .powerLoss) { try Arriving.giveUp(abandoned, in: $0) }
            for queue in try await target.snapshots.read({ try Arriving.queues(of: abandoned, $0) }) {
                try await target.configure(queue, .delete(force: true))
            }
        }
        return found
    }

    private func forget(_ moveIDs: [String], in target: some SQLStore) async throws {
        for moveID in moveIDs {
            try await target.core.writer.perform(durability: .powerLoss) { try Arriving.forget(moveID, in: $0) }
        }
    }
}
