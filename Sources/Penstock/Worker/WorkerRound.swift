internal import PenstockCore

/// What a worker knows of its queues from one round to the next: which may have messages, and whose turn it is.
struct WorkerRound: Sendable {
    private struct Knowledge {
        /// Whether the last claim took all that there was.
        var isEmpty = false
        /// Whether groups or limits say how many of its messages may be leased.
        var isLimited = false
        /// Whether a limit kept back what there was.
        var isWithheld = false
        /// Whether the store has no such queue.
        var isGone = false
        /// When it was last asked.
        var asked: BootTime?
        /// How many messages nobody else is woken for that are announced since it was asked.
        var promised = 0
        /// How many of these it was woken for, and has neither been given nor passed on. A claim that fails pays none of them.
        var owed = 0
    }

    var claimLoop: ClaimLoop
    var turns: QueueTurns
    private var queues: [Knowledge]
    /// How many messages were taken up.
    var takenCount = 0
    /// Which messages the worker takes up.
    var kinds: KnownKinds

    /// A queue that was empty is asked again with what is claimed anyway, when this has passed: others than Penstock may have
    /// written to it. Waiting for that wakes nobody.
    static let emptyMax = Duration.milliseconds(100)
    /// A queue that is gone may be made anew.
    static let goneMax = Duration.seconds(5)

    init(_ holders: [LeaseHolder], order: QueueOrder, kinds: Set<String>? = nil) {
        self.kinds = KnownKinds(kinds)
        claimLoop = ClaimLoop(holders)
        turns = QueueTurns(order, count: holders.count)
        queues = holders.map { _ in Knowledge() }
    }

    /// This worker owes from now on what has been announced and only it was woken for. It takes that, or sees to it that another one does.
    mutating func takePromises() {
        for index in queues.indices {
            let promised = queues[index].promised
            queues[index].promised = 0
            guard promised > 0, claimLoop.sources[index].isRung else { continue }
            queues[index].isEmpty = false
            queues[index].owed = max(queues[index].owed, promised)
        }
    }

    /// How many messages of each queue this worker owes.
    var owed: [Int] { queues.map(\.owed) }

    /// From each queue that may have messages, so many as make `room` together. One that was empty and of which nothing was heard
    /// is left alone, unless it is the only one: it costs nothing.
    ///
    /// - Parameters:
    ///   - asksAll: whether to ask those as well.
    ///   - emptied: the queues that were asked in this round, and had no more.
    func shares(
        of room: Int, at boot: BootTime, _ now: Timestamp, asksAll: Bool = false, except emptied: Set<Int>
    ) -> [Int] {
        let hasMore = queues.indices.map { index in
            !emptied.contains(index) && (asksAll || queues.count == 1 || mayHaveMore(index, at: boot, now))
        }
        return turns.shares(of: room, among: hasMore)
    }

    private func mayHaveMore(_ index: Int, at boot: BootTime, _ now: Timestamp) -> Bool {
        let (queue, source) = (queues[index], claimLoop.sources[index])
        guard let asked = queue.asked, queue.isEmpty else { return true }
        if source.isRung { return true }
        if let due = source.nextDue, due <= now { return true }
        return (asked + (queue.isGone ? Self.goneMax : Self.emptyMax)).left(at: boot) == nil
    }

    /// These are about to be asked. Should that fail, what was announced in them is still to be asked for: the call takes the announcement
    /// for heard.
    mutating func ask(_ indices: [Int]) {
        for index in indices { queues[index].isEmpty = false }
    }

    /// What a claim gave.
    mutating func note(_ claim: Claim, of limit: Int, from index: Int, at boot: BootTime) {
        queues[index].isEmpty = claim.isAll(of: limit)
        queues[index].owed = queues[index].isEmpty ? 0 : max(0, queues[index].owed - claim.messages.count)
        queues[index].isGone = false
        queues[index].asked = boot
        (queues[index].isLimited, queues[index].isWithheld) = (claim.isLimited, claim.isWithheld)
    }

    /// Whether more may be claimed than handlers are free for. Not where groups or limits say how many may be leased: what waits
    /// here for a handler would keep another worker from working.
    var claimsAhead: Bool { !queues.contains(where: \.isLimited) }

    /// Whether a limit keeps back messages, which come when others have ended.
    var isWithheld: Bool { queues.contains(where: \.isWithheld) }

    /// A claim found that there is no such queue.
    ///
    /// - Returns: whether that is new.
    mutating func noteGone(_ index: Int, at boot: BootTime) -> Bool {
        let isNew = !queues[index].isGone
        (queues[index].isEmpty, queues[index].isGone, queues[index].asked) = (true, true, boot)
        queues[index].owed = 0
        (queues[index].isLimited, queues[index].isWithheld) = (false, false)
        claimLoop.forgetDue(at: index)
        return isNew
    }

    /// Whether all the others were gone when they were last asked. They may have been made anew since.
    func wereOthersGone(than index: Int) -> Bool {
        queues.indices.allSatisfy { $0 == index || queues[$0].isGone }
    }

    /// The queues that may have more than was claimed, though this worker alone was woken for it. Another one is woken for
    /// that now, and this one owes nothing.
    mutating func takeUnkept() -> [Int] {
        let unkept = queues.indices.filter { queues[$0].owed > 0 }
        for index in unkept { queues[index].owed = 0 }
        return unkept
    }

    /// Another worker was woken for what is in this queue.
    mutating func passedOn(_ index: Int) { queues[index].owed = 0 }

    /// The worker waits, and is woken for up to `room` messages of each queue.
    mutating func promise(_ room: Int) {
        for index in queues.indices where claimLoop.sources[index].before != nil { queues[index].promised = room }
    }

    /// The moment at which the worker looks at the latest, if nothing is heard.
    func lookEnd(at boot: BootTime, _ interval: Duration) -> BootTime {
        boot + (queues.contains(where: \.isGone) ? min(interval, Self.goneMax) : interval)
    }
}
