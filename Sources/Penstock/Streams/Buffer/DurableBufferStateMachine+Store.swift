internal import PenstockCore

/// The machine's side towards the store: what is to be done there, and what it answers.
extension DurableBufferStateMachine {
    /// What the store loop does next.
    enum Step {
        /// Make the queue ready, and count what waits.
        case open
        /// Carry these out in one call, and tell ``enqueued(accepted:net:)`` and ``claimed(_:isShort:)`` of each in turn.
        case perform([PendingOperations<Value>.Step])
        /// Count what waits.
        case recount
        /// Count what is left of the queue.
        case count
        /// Wait until it is woken or, when it watches, until the queue may have changed.
        case rest(watching: Bool)
        /// The stream is over.
        case end
    }

    mutating func nextStep() -> (step: Step, actions: [Action]) {
        switch phase {
        case .idle: return (.rest(watching: false), [])
        case .opening: return (.open, [])
        case .running, .finishing, .failing, .cancelled: break
        }
        if hasFoundRoom || mustRecount && isKnownEmpty, isOpen { return (.recount, []) }
        // What was put off may be due by now: claimed, it makes room for what is offered again.
        if offersAgain, isOpen, demand > 0, !isKnownEmpty { return (.perform(operations.look(for: demand)), []) }
        let call = operations.next(beside: isOpen ? demand : 0)
        if !call.isEmpty { return (.perform(call), letPullerGoOn()) }
        if operations.isBlocked { return (.rest(watching: true), []) }
        if !isOpen { return (.end, []) }
        if demand > 0, !isKnownEmpty { return (.perform(operations.look(for: demand)), []) }
        if phase == .finishing {
            if !isCounted { return (.count, []) }
            if isOver { return (.end, []) }
        }
        return (.rest(watching: demand > 0 || phase == .finishing), [])
    }

    // MARK: What the store answers

    /// The queue is ready for the stream.
    ///
    /// - Parameters:
    ///   - waiting: how many messages wait.
    ///   - isPaused: whether the last value that arrived found the line full, and none was taken since.
    mutating func opened(waiting: Int, isPaused: Bool) -> [Action] {
        guard phase == .opening else { return [] }
        phase = .running
        self.waiting = waiting
        self.isPaused = isPaused && rules.prefetch == .keepFull && waiting >= rules.size
        operations.stored = waiting
        assign()
        return askForMore()
    }

    /// The store took the first `accepted` values of the next enqueue, after which `net` more waited than before.
    mutating func enqueued(accepted: Int, net: Int) -> [Action] {
        // Of values that found no room nothing is there to be claimed.
        if net > 0 || rules.whenFull == .dropOldest { isKnownEmpty = false }
        offersAgain = false
        let answer = operations.enqueued(accepted: accepted, net: net)
        isCounted = false
        mayOverflow = false
        if answer.surplus != 0 { waiting = operations.waitingInTheEnd }
        if answer.surplus > 0 { (hasFoundRoom, isPaused) = (true, false) }
        if answer.hasOverflowed { isPaused = true }
        // What had demand and no room is kept, like the others, until there is room.
        demand = demand.addingUpToMax(answer.heldBack)
        guard operations.isBlocked else { return letPullerGoOn() }
        if let lost = giveUpWaiting() { return [lost] }
        assign()
        return []
    }

    /// The next claim gave so many messages.
    ///
    /// - Parameter isShort: whether there were no more.
    mutating func claimed(_ count: Int, isShort: Bool) -> [Action] {
        let answer = operations.claimed(count)
        isKnownEmpty = isShort
        isCounted = false
        demand = demand.addingUpToMax(answer.unmet)
        if demand < .max {
            let taken = min(answer.surplus, demand)
            demand -= taken
            // What was found beside took the place of values that came meanwhile: these wait now.
            operations.keepBack(answer.surplus - taken)
        }
        if rules.givesLater {
            waiting = max(0, waiting - count)
        } else {
            if answer.unmet > 0 || answer.surplus > 0 { waiting = operations.waitingInTheEnd }
            let isUnknown = operations.stored > 0 && (operations.stored != knownOut || isClogged)
            mustRecount = mustRecount || isShort && isUnknown
        }
        assign()
        return askForMore()
    }

    /// So many messages wait in the store.
    mutating func recounted(_ stored: Int) -> [Action] {
        (mustRecount, hasFoundRoom) = (false, false)
        knownOut = stored
        operations.stored = stored
        waiting = operations.waitingInTheEnd
        assign()
        return askForMore()
    }

    /// A message that was claimed could not be handed out.
    mutating func unopened() -> [Action] {
        demand = demand.addingUpToMax(1)
        assign()
        return askForMore()
    }

    /// So many messages of the queue wait or are in hands that this stream gave them into.
    mutating func counted(_ count: Int) -> [Action] {
        isCounted = true
        isOver = count == 0
        return []
    }

    /// Something may have changed in the queue.
    mutating func looksAgain() -> [Action] {
        isKnownEmpty = false
        isCounted = false
        knownOut = nil
        offersAgain = operations.isBlocked
        operations.isBlocked = false
        return []
    }

    /// The store had no place for a value, and for that the stream is to fail. What came before is stored, and nothing after it.
    mutating func overflowed(_ failure: any Error) -> [Action] {
        if phase != .cancelled {
            phase = .failing
            self.failure = failure
        }
        _ = operations.forgetAll()
        return stopUpstream()
    }

    /// The store failed. What was to be stored cannot be.
    mutating func storageFailed(_ failure: any Error) -> [Action] {
        if phase != .cancelled {
            phase = .failing
            self.failure = self.failure ?? failure
        }
        let count = operations.forgetAll()
        return stopUpstream() + (count > 0 ? [.lost(count)] : [])
    }
}
