package import PenstockCore
package import PenstockProcesses

/// Gets the store's writer the right to write, or has its calls carried out by the process that has it.
///
/// The writer's thread is the only one that waits here. Each call in the line has one deadline, and the thread itself
/// answers those whose deadline comes. So no wait is without an end, and none is the sum of several.
package final class WriterAccess {
    /// How a wait has ended.
    package enum Entry {
        /// This process may write, until ``leave()``.
        case acquired
        /// Another process has carried out the calls that come first in the line, and this is what each of them gave;
        /// whether all of it is on the disk already.
        case answered([[Receipt]], to: Request, isFlushed: Bool)
        /// Nobody waits any more.
        case nothingLeft
    }

    package struct Request {
        package let slot: Int
        package let ticket: UInt64

        package init(slot: Int, ticket: UInt64) {
            self.slot = slot
            self.ticket = ticket
        }
    }

    /// How long a wait lasts until the process that is waited for may have died, and is looked for.
    private static let pauseMin = Duration.milliseconds(5)
    private static let pauseMax = Duration.milliseconds(100)
    /// A pause of this length means that a process has had a request in hand for longer than a transaction and a flush take,
    /// also on a slow disk: 75 ms, the pauses before it. Asked earlier, each process would flush by itself what the other is
    /// about to flush for all.
    private static let pauseOfDoubt = Duration.milliseconds(80)
    /// How much longer than its deadline a call is waited for that another process has in hand: it is better to know.
    private static let doubtMax = Duration.seconds(2)

    package let lock: WriterLock
    private let line: GroupWriter
    private let engine: Engine
    private lazy var slot = lock.slots.flatMap { WriterSlot(of: $0) }

    package init(_ lock: WriterLock, _ line: GroupWriter, _ engine: Engine) {
        self.lock = lock
        self.line = line
        self.engine = engine
    }

    /// The number of this store's slot, once it has waited.
    package var ownSlot: Int? { hasWaited ? slot?.number : nil }
    /// The last request of this store that is over, once it has waited.
    package var lastRequest: Request? {
        guard hasWaited, let slot else { return nil }
        return Request(slot: slot.number, ticket: slot.ticket)
    }
    private var hasWaited = false
    /// Whether the next call was refused by the process that carried out those before it. This one then carries it out
    /// itself, so that it has its answer.
    private var isNextRefused = false
    private var holdsLock = false

    /// Lets another process write, if this one may.
    package func leave() {
        if holdsLock { lock.release(after: ownSlot) }
        holdsLock = false
    }

    private func tryAcquire() -> Bool {
        holdsLock = lock.tryAcquire()
        return holdsLock
    }

    /// Waits until this process may write, or until another one has carried out what waits in the line.
    package func enter() -> Entry {
        let maySend = engine.sharesTransactions && !isNextRefused
        isNextRefused = false
        if tryAcquire() {
            // Where the server says who may write, its lock is the one that is always timed.
            if engine.lockWaitMax == nil { engine.timings.recordWriterLock(since: nil) }
            return .acquired
        }
        hasWaited = true
        let start = ContinuousClock.now
        defer { engine.timings.recordWriterLock(since: start) }
        guard let slot else { return poll(since: start) }
        return Wait(self, slot, maySend: maySend, since: start).run()
    }

    private func hasWaitedEnough(since start: ContinuousClock.Instant) -> Bool {
        engine.lockWaitMax.map { .now - start >= $0 } ?? false
    }

    /// Answers the calls whose deadline has come.
    ///
    /// - Parameter count: how many of the first calls are not answered, as another process has them in hand.
    /// - Returns: whether any call is left.
    package func answerLate(after count: Int = 0) -> Bool {
        for job in line.takeLate(after: count) { job.finish(lock.refusal ?? Self.busy(engine.busyMax)) }
        return line.count > 0
    }

    package static func busy(_ busyMax: Duration) -> PenstockError {
        PenstockError(
            .busy, "Another process has written to this store for longer than \(busyMax); is it stopped? End it.")
    }

    /// Waits without a slot: tries again from time to time.
    private func poll(since start: ContinuousClock.Instant) -> Entry {
        while !tryAcquire(), !hasWaitedEnough(since: start) {
            if !answerLate() { return .nothingLeft }
            WriterLock.pause()
        }
        return .acquired
    }

    /// One wait at the store's slot.
    private final class Wait {
        private let access: WriterAccess
        private let slot: WriterSlot
        private let maySend: Bool
        private let start: ContinuousClock.Instant
        /// How many calls, the first ones of the line, are posted.
        private var postedCount = 0
        private var pause = WriterAccess.pauseMin

        init(_ access: WriterAccess, _ slot: WriterSlot, maySend: Bool, since start: ContinuousClock.Instant) {
            self.access = access
            self.slot = slot
            self.maySend = maySend
            self.start = start
        }

        private var request: Request { Request(slot: slot.number, ticket: slot.ticket) }

        func run() -> Entry {
            post()
            var isLate = false
            while true {
                let ringCount = slot.ringCount
                if let entry = ended(isLate: isLate) ?? giveUpLate() { return entry }
                var limit = pause
                if let left = access.line.timeLeft, left > .zero { limit = min(limit, left) }
                slot.wait(after: ringCount, upTo: limit)
                isLate = slot.ringCount == ringCount
                if isLate { pause = min(pause * 2, WriterAccess.pauseMax) }
            }
        }

        private func post() {
            postedCount = slot.begin { writer in
                maySend ? PostedCall.write(access.line.postedCalls, to: &writer) : 0
            }
        }

        /// How the wait has ended; `nil` when it has not.
        ///
        /// - Parameter isLate: whether nobody has rung for a while: the other process may be dead or stopped.
        private func ended(isLate: Bool) -> Entry? {
            let state = slot.state
            switch state {
            case .done:
                if let entry = answered(isFlushed: true) { return entry }
                return mayGoOn || access.engine.lockWaitMax != nil ? decided() : nil
            case .waiting, .posted:
                guard mayGoOn else { return nil }
                if access.engine.lockWaitMax == nil { return decided() }
                // The lock does not say what becomes of the request, the word does.
                if slot.withdraw() { return acquired() }
                access.leave()
                return nil
            case .taken, .free, nil:
                // Not taken means that the memory is damaged: what became of the request is in the database.
                if state == .taken, !isLate || pause < WriterAccess.pauseOfDoubt { return nil }
                if let entry = answered(isFlushed: false) { return entry }
                return mayGoOn ? decided() : nil
            }
        }

        /// Whether this process has the lock now, or need not wait for it any more.
        private var mayGoOn: Bool { access.tryAcquire() || access.hasWaitedEnough(since: start) }

        /// Ends the wait, as this process may write.
        private func acquired() -> Entry {
            slot.end()
            return .acquired
        }

        /// Now it is certain what became of a request: its row is there, or never comes. The memory is not asked, as it may be
        /// damaged.
        private func decided() -> Entry? {
            slot.retract()
            do {
                if postedCount > 0, let bytes = try access.engine.decideAnswer(request) {
                    access.leave()
                    return answered(bytes, isFlushed: false)
                }
            } catch {
                access.leave()
                return unknown("what came of it cannot be read.")
            }
            return acquired()
        }

        /// The answer, if it is in the database.
        private func answered(isFlushed: Bool) -> Entry? {
            guard postedCount > 0 else { return nil }
            if isFlushed, let told = slot.answer.flatMap(access.engine.readTold) {
                return answered(told, isFlushed: true)
            }
            // Where the lock says all, so does the word that it is on the disk.
            guard let bytes = try? access.engine.readAnswer(request) else { return nil }
            return answered(bytes, isFlushed: isFlushed && access.engine.lockWaitMax == nil)
        }

        private func answered(_ bytes: [UInt8], isFlushed: Bool) -> Entry {
            let request = request
            slot.end()
            let receipts = PostedAnswer(bytes).receipts
            access.isNextRefused = receipts.count < postedCount
            return .answered(receipts, to: request, isFlushed: isFlushed)
        }

        /// Answers the calls whose deadline has come, and goes on for the others.
        ///
        /// - Returns: `nothingLeft` when there are no others.
        private func giveUpLate() -> Entry? {
            guard let left = access.line.timeLeft, left <= .zero else { return nil }
            switch slot.state {
            case .waiting, .posted:
                // Taken in this moment, it is another process's after all.
                guard slot.withdraw() else { return nil }
                guard access.answerLate() else { return .nothingLeft }
                post()
                return nil
            case .taken, .done, .free, nil:
                if !access.answerLate(after: postedCount) {
                    slot.end()
                    return .nothingLeft
                }
                guard postedCount > 0, left + WriterAccess.doubtMax <= .zero else { return nil }
                return unknown("has not said in \(access.engine.busyMax) what came of it; is it stopped?")
            }
        }

        /// Answers the calls that another process has in hand, and waits no longer for it.
        private func unknown(_ why: String) -> Entry? {
            slot.end()
            var error: any Error = PenstockError(
                .outcomeUnknown,
                "Another process carries this call out, and \(why) Look whether its messages are there before you make the "
                    + "call again.")
            // What came of the calls went with the file: that is what to tell.
            do { try access.engine.requireStill() } catch let loss { error = loss }
            for job in access.line.takeFirst(postedCount) { job.finish(error) }
            if access.line.count == 0 { return .nothingLeft }
            post()
            return nil
        }
    }
}
