internal import PenstockCore
internal import Synchronization

/// The verdicts of one reader that wait for a call of the store, so that many of them make one operation.
///
/// A reader whose loop runs is their carrier: it takes all that wait with its next call, which mostly also claims, so that
/// both are one transaction. While there is none, or it is away, the first task that comes with a verdict hands it in, and what
/// comes meanwhile goes together in the next call. So a verdict waits for the store: a call that is under way, and the disk
/// behind it. While other leases are held it first lets the tasks run that are ready to, as theirs may go with it, and a reader that
/// is handing messages out.
final class SettleLine: Sendable {
    /// A verdict, and the task that waits for what came of it.
    struct Entry: Sendable {
        let settlement: Settlement
        fileprivate let waiter: CheckedContinuation<Turn, Never>

        func answer(_ result: Result<SettleResult, any Error>) {
            waiter.resume(returning: .answered(result))
        }
    }

    fileprivate enum Turn: Sendable {
        case answered(Result<SettleResult, any Error>)
        /// The task is to hand in its own verdict, and all that wait.
        case handsIn
    }

    /// How a verdict gets to the store.
    private enum Way {
        /// With the carrier's next call.
        case isCarried
        /// In a call of its own task.
        case handsIn
        /// Behind a task that hands in.
        case waits
    }

    private struct State {
        var entries: [Entry] = []
        /// Wakes the carrier, which then takes what waits.
        var wakeCarrier: (@Sendable () -> Void)?
        /// For how many reasons the carrier is away.
        var awayCount = 0
        /// About how many verdicts went together lately.
        var usualCount = 0
        /// Whether a task hands verdicts in that is not the carrier.
        var isHandingIn = false
        /// Opens when none does any more.
        var handedIn: Latch?

        var hasCarrier: Bool { wakeCarrier != nil && awayCount == 0 }

        mutating func take() -> [Entry] {
            defer { entries = [] }
            usualCount = max(entries.count, usualCount / 2)
            return entries
        }
    }

    private let storage: any MessageStore
    private let inFlight: InFlight
    private let state = Mutex(State())
    /// How many messages the reader has handed out, if it says so.
    private let handedOutCount = Atomic(0)

    /// So many times a task that lets others run looks in vain whether they have got on, and so long in all.
    private static let looksMax = 4
    /// Where no more than so many verdicts go together, a call fewer is not worth the looks, which wake threads, nor a task for the answers.
    private static let fewMax = 4
    private static let patience = Duration.microseconds(500)

    init(_ storage: any MessageStore, _ inFlight: InFlight) {
        self.storage = storage
        self.inFlight = inFlight
    }

    /// Settles. The lease is out of ``InFlight`` when this returns.
    ///
    /// - Parameter inLine: called when a carrier is to take the verdict, and before it is woken: what makes it claim then claims
    ///   in the same call. Of a verdict that goes another way nobody knows until this returns, so that no claim overtakes it.
    func settle(_ settlement: Settlement, inLine: () -> Void = {}) async throws -> SettleResult {
        // What the store would refuse must not come between the verdicts of others.
        try settlement.validate()
        var turn = await place(settlement, inLine)
        // Where no other lease is held nothing can go with the verdict, and it does not wait for tasks that have the threads to
        // themselves.
        if case .handsIn = turn, inFlight.holds(moreThan: 1) {
            await letOthersSettle()
            // A carrier that has come meanwhile takes it with the others.
            if state.withLock({ $0.hasCarrier }) {
                passOn()
                turn = await place(settlement, inLine)
            }
        }
        switch turn {
        case .answered(let result):
            return try result.get()
        case .handsIn:
            defer { passOn() }
            // What waits is the carrier's, should there be one by now.
            let others = state.withLock { $0.hasCarrier ? [] : $0.take() }
            let results = await handIn([settlement] + others.map(\.settlement))
            answer(others, Array(results.dropFirst()))
            return try results[0].get()
        }
    }

    /// Returns when the verdict is answered, or its task is to hand it in.
    private func place(_ settlement: Settlement, _ inLine: () -> Void) async -> Turn {
        await withCheckedContinuation { waiter in
            let (way, wakeCarrier) = state.withLock { state -> (Way, (@Sendable () -> Void)?) in
                if !state.hasCarrier, !state.isHandingIn {
                    state.isHandingIn = true
                    return (.handsIn, nil)
                }
                state.entries.append(Entry(settlement: settlement, waiter: waiter))
                guard state.hasCarrier else { return (.waits, nil) }
                return (.isCarried, state.entries.count == 1 ? state.wakeCarrier : nil)
            }
            switch way {
            case .isCarried:
                inLine()
                wakeCarrier?()
            case .handsIn: waiter.resume(returning: .handsIn)
            case .waits: break
            }
        }
    }

    /// Lets the tasks run that may be about to settle as well: those that are ready to and, while a reader hands messages out, for a moment
    /// those that it begins, until it comes as the carrier.
    ///
    /// The reader's thread has often lost its processor to the one that it woke with the last message, which runs this task.
    private func letOthersSettle() async {
        guard manyGoTogether else { return await Task.yield() }
        await letOthersRun { state.withLock { $0.hasCarrier } ? nil : handedOutCount.load(ordering: .relaxed) }
    }

    private var manyGoTogether: Bool { state.withLock { $0.usualCount > Self.fewMax } }

    /// - Parameter progress: how far they have come; `nil`: there is nothing to wait for any more.
    private func letOthersRun(_ progress: () -> Int?) async {
        guard var seen = progress() else { return }
        var looksLeft = Self.looksMax
        let end = inFlight.time.boot + Self.patience
        while looksLeft > 0 {
            yieldProcessor()
            await Task.yield()
            guard let now = progress() else { return }
            looksLeft = now == seen ? looksLeft - 1 : Self.looksMax
            seen = now
            if end.left(at: inFlight.time.boot) == nil { return }
        }
    }

    // MARK: The carrier

    /// From now on the caller takes what waits. It looks whether something does before it waits itself, and is woken for the
    /// first that comes then.
    func beginCarrying(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakeCarrier = wake }
    }

    /// The carrier is about to make a call: tasks that are about to settle do so first, for a moment.
    func gather() async {
        guard manyGoTogether else { return }
        await letOthersRun {
            let count = state.withLock { $0.entries.count }
            return inFlight.holds(moreThan: count) ? count : nil
        }
    }

    /// The carrier takes nothing any more.
    func endCarrying() {
        state.withLock { $0.wakeCarrier = nil }
        passOn(unlessHandingIn: true)
    }

    /// Runs `body`, which is no call that takes verdicts along: while the carrier sleeps or runs the code of a program, each
    /// verdict goes without it. It comes back when none is on its way, so that it claims nothing in the place
    /// of a message that is not settled. Then it looks whether a verdict waits, as at the beginning.
    func whileAway<Answer>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Answer
    ) async rethrows -> Answer {
        state.withLock { $0.awayCount += 1 }
        passOn(unlessHandingIn: true)
        let answer: Answer
        do {
            answer = try await body()
        } catch {
            await comeBack()
            throw error
        }
        await comeBack()
        return answer
    }

    private func comeBack() async {
        let handedIn = state.withLock { state -> Latch? in
            state.awayCount -= 1
            guard state.hasCarrier, state.isHandingIn else { return nil }
            let handedIn = state.handedIn ?? Latch()
            state.handedIn = handedIn
            return handedIn
        }
        await handedIn?.waitThoughCancelled()
    }

    /// The reader hands out a message, and goes on with others as long as the program asks for them.
    func handsOut() { handedOutCount.wrappingAdd(1, ordering: .relaxed) }

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Whether a carrier waits to come back. For tests, which go on at this signal.
    var isAwaited: Bool { state.withLock { $0.handedIn?.isAwaited == true } }

    /// The leases that are settled with the next call.
    var leases: [Lease] { state.withLock { $0.entries.map(\.settlement.lease) } }

    /// What waits, and is about to be settled. The caller answers each of them.
    func take() -> [Entry] {
        let entries = state.withLock { $0.entries.isEmpty ? [] : $0.take() }
        inFlight.beginSettling(entries.map(\.settlement.lease))
        return entries
    }

    /// The store has answered for these.
    func answer(_ entries: [Entry], _ results: [SettleResult]) {
        inFlight.remove(entries.map(\.settlement.lease))
        answer(entries, entries.indices.map { .success($0 < results.count ? results[$0] : .leaseLost) })
    }

    /// The store did not take these with the rest of a call. They go by themselves, unless it takes nothing at all.
    ///
    /// - Parameter wasAlone: whether the call was for nothing else. A disk may be full for that, and not for a verdict.
    func handIn(_ entries: [Entry], after error: any Error, wasAlone: Bool) async {
        if entries.isEmpty { return }
        let error = error as? PenstockError
        let isStalled = error?.isOfStalledStore == true && (wasAlone || error?.code != .diskFull)
        guard let error, isStalled else { return await handIn(entries) }
        for entry in entries { entry.answer(.failure(error)) }
    }

    /// Has the store settle these by themselves, and answers them.
    func handIn(_ entries: [Entry]) async {
        if entries.isEmpty { return }
        answer(entries, await handIn(entries.map(\.settlement)))
    }

    // MARK: -

    /// Many are answered in a task of their own, so that the caller's thread goes on meanwhile. A thread that does nothing else than answer
    /// is put aside at each answer for the one that it wakes, which has done its part before there is another.
    private func answer(_ entries: [Entry], _ results: [Result<SettleResult, any Error>]) {
        let answerAll: @Sendable () -> Void = { for (entry, result) in zip(entries, results) { entry.answer(result) } }
        if entries.count > Self.fewMax { _ = ownTask { answerAll() } } else { answerAll() }
    }

    /// Has the next task hand in what waits, unless a carrier takes it.
    private func passOn(unlessHandingIn: Bool = false) {
        let (next, handedIn) = state.withLock { state -> (Entry?, Latch?) in
            if unlessHandingIn, state.isHandingIn { return (nil, nil) }
            state.isHandingIn = !state.hasCarrier && !state.entries.isEmpty
            return state.isHandingIn ? (state.entries.removeFirst(), nil) : (nil, state.handedIn.take())
        }
        handedIn?.open()
        next?.waiter.resume(returning: .handsIn)
    }

    /// Hands verdicts in together. When the store does not take them together, they go alone, so that none spoils another,
    /// unless it takes nothing at all.
    private func handIn(_ settlements: [Settlement]) async -> [Result<SettleResult, any Error>] {
        inFlight.beginSettling(settlements.map(\.lease))
        do {
            let results = try await settle(settlements)
            return settlements.indices.map { .success($0 < results.count ? results[$0] : .leaseLost) }
        } catch {
            if settlements.count == 1 || (error as? PenstockError)?.isOfStalledStore == true {
                return settlements.map { _ in .failure(error) }
            }
            var results: [Result<SettleResult, any Error>] = []
            for settlement in settlements { results += await handIn([settlement]) }
            return results
        }
    }

    /// Calls the store, also for a task that is cancelled: the verdicts of others go with its own.
    private func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        let results: [SettleResult]
        do {
            results = try await storage.settle(settlements)
        } catch is CancellationError {
            results = try await ownTask { [storage] in try await storage.settle(settlements) }.value
        }
        inFlight.remove(settlements.map(\.lease))
        return results
    }
}
