import PenstockCore

/// What a message leaves behind on its way, and what comes to it from outside.
extension MemoryState {
    func message(_ sequence: SequenceNumber) throws(PenstockError) -> MemoryMessage {
        guard let message = messages[sequence] else {
            throw PenstockError.unknown(sequence)
        }
        return message
    }

    mutating func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, at moment: Moment
    ) throws(PenstockError) -> StepRecord {
        try StepRecord.validate(result)
        if let duration { try Lease.validate(duration) }
        guard isHeld(lease), let message = messages[lease.sequence] else {
            throw PenstockError(
                .leaseLost, "The lease of message \(lease.sequence) was lost; the step '\(step)' is not on record.")
        }
        let known = message.steps.first { $0.name == step }
        if known == nil {
            try StepRecord.validate(
                count: message.steps.count + 1, bytes: message.steps.reduce(result.count) { $0 + $1.result.count })
        }
        extend(LeaseExtension(lease, by: duration), at: moment)
        if let known { return known }
        let record = StepRecord(name: step, result: result, recordedAt: moment.now)
        messages[lease.sequence]?.steps.append(record)
        return record
    }

    func journal(of sequence: SequenceNumber) throws(PenstockError) -> MessageJournal {
        let message = try message(sequence)
        return MessageJournal(
            steps: message.steps, awaited: message.awaited, result: message.result, task: message.task)
    }

    mutating func expectEnd(of sequence: SequenceNumber, at moment: Moment) throws(PenstockError) -> MessageState {
        let found = try message(sequence)
        if found.state != .leased { endIfExpired(sequence, at: moment) }
        let state = try message(sequence).state
        if !state.isFinished { messages[sequence]?.isEndAwaited = true }
        return state
    }

    mutating func emit(_ event: NewEvent, to target: EventTarget, at moment: Moment) throws(PenstockError) -> Bool {
        try event.validate()
        let sequences: [SequenceNumber]
        switch target {
        case .message(let sequence): sequences = [try message(sequence).sequence]
        case .workflow(let name): sequences = try workflow(name).tasks.values.sorted()
        }
        if events[target]?[event.name] != nil { return false }
        let open = sequences.filter { messages[$0]?.state.isFinished == false }
        guard !open.isEmpty else {
            throw target.refusal(dead: sequences.first { messages[$0]?.state == .dead })
        }
        try NewEvent.validate(count: (events[target]?.count ?? 0) + 1)
        events[target, default: [:]][event.name] = event.payload
        for sequence in open where messages[sequence]?.awaited == event.name { move(sequence, by: .due, at: moment) }
        return true
    }

    func event(_ name: EventName, for sequence: SequenceNumber) throws(PenstockError) -> [UInt8]? {
        let message = try message(sequence)
        if let own = events[.message(sequence)]?[name] { return own }
        return message.task.flatMap { events[.workflow($0.workflow)]?[name] }
    }
}
