public import PenstockCore
import PenstockProcesses

/// Operations that share a transaction.
extension SQLStore {
    /// Carries out operations in their order, as ``MessageStore/perform(_:)`` says, in one transaction with what else is
    /// asked for: a crash leaves all of them or none, and others see none before all are done.
    public func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        // An operation that cannot be is found here, outside of the transaction of the others.
        var steps: [Step] = []
        var refusal: (any Error)?
        do {
            for operation in operations { steps.append(try Step(operation, isFirst: steps.isEmpty, of: self)) }
        } catch {
            if steps.isEmpty { throw error }
            refusal = error
        }
        if steps.isEmpty {
            flushed?(nil)
            return Performed()
        }
        try Task.checkCancellation()
        let durabilities = steps.compactMap(\.durability)
        var performed = try await core.writer.perform(
            durability: durabilities.contains(.powerLoss) ? .powerLoss : durabilities.first,
            weight: steps.reduce(0) { $0 + $1.weight }, duringMove: .draining,
            check: steps.count == 1 ? steps[0].check(core.requireStill) : nil,
            unflushed: { Performed(answers: $0.answers, failure: $1) }, flushed: flushed,
            prefetch: { [steps, worker = core.worker] connection, policies in
                for step in steps { try step.prefetch(worker, connection, policies) }
            }
        ) { [steps, worker = core.worker] transaction in
            var performed = Performed()
            for step in steps {
                do {
                    try transaction.departure?.refuse(unless: step.isVerdict ? .draining : .nothing)
                    let answer = try step.perform(worker, in: transaction)
                    performed.answers.append(answer)
                    if step.operation.isCutShort(by: answer) { break }
                } catch let error as PenstockError where error.isRefusal && !performed.answers.isEmpty {
                    performed.failure = error
                    break
                }
            }
            return performed
        }
        if let failure = performed.failure as? PenstockError, failure.code == .outcomeUnknown {
            // The caller has no answer, and so nobody knows what was claimed for it. What cannot be given back, or is not
            // as this process dies, comes back when its lease ends.
            let claimed = performed.answers.flatMap { answer -> [ClaimedMessage] in
                if case .claimed(let claim) = answer { claim.messages } else { [] }
            }
            _ = try? await settle(claimed.map { Settlement.unbegun($0.lease) })
            throw failure
        }
        for (step, answer) in zip(steps, performed.answers) { step.tell(core.doorbell, of: answer) }
        // The operation that cannot be is reached only if those before it were carried out whole.
        if performed.answers.count == steps.count, performed.failure == nil, let last = steps.last,
            performed.answers.last.map(last.operation.isCutShort) == false
        {
            performed.failure = refusal
        }
        return performed
    }
}

/// An operation, and what is known of it before the transaction.
private struct Step: Sendable {
    let operation: StoreOperation
    let weight: Int
    /// Whether the messages are left to another worker, which has room.
    private var isLeft = false
    /// What is announced to processes where a claim takes its messages from; `nil`: nothing.
    private var announced: DoorbellBoard.Word?
    /// Whether it is first found out by reading that a claim, which comes alone, has something to take.
    private var checksFirst = false
    private let time: any TimeSource

    /// - Parameter isFirst: whether nothing comes before it, so that the call is not worth while without it.
    init(_ operation: StoreOperation, isFirst: Bool, of store: some SQLStore) throws {
        self.operation = operation
        time = store.core.time
        switch operation {
        case .enqueue(let messages, _, _):
            try NewMessage.validate(batch: messages, now: store.core.time.now)
            weight = store.weight(of: messages)
        case .settle(let settlements):
            try Settling.validate(settlements, now: store.core.time.now)
            weight = store.weight(of: settlements)
        case .claim(let request):
            try request.validate()
            weight = request.limit
            let bucket = RingBucket.of(request.queue)
            checksFirst = isFirst && !store.core.wasRungFor(bucket)
            guard let doorbell = store.core.doorbell else { break }
            isLeft =
                request.leavesToOthers && !isFirst
                && doorbell.isOthers(bucket, tag: RingBucket.tag(of: request.queue))
            announced = isLeft ? nil : doorbell.board.word(at: bucket)
        }
    }

    var durability: Durability? {
        if case .enqueue(_, _, let durability) = operation { durability } else { nil }
    }

    /// Whether workers only give back what they have.
    var isVerdict: Bool {
        if case .settle = operation { true } else { false }
    }

    /// Answers a claim in an empty queue.
    func check(_ requireStill: @escaping @Sendable () throws -> Void) -> (
        @Sendable (Connection, PolicyCache, Timestamp) throws -> Performed?
    )? {
        guard checksFirst, case .claim(let request) = operation else { return nil }
        let time = self.time
        return { connection, policies, now in
            // A store that nobody tells that its file is gone, or a table, would find nothing for ever.
            try requireStill()
            return try Claiming.check(request, connection, policies, now, time)
                .map { Performed(answers: [.claimed($0)]) }
        }
    }

    func prefetch(_ worker: WorkerIdentity, _ connection: Connection, _ policies: PolicyCache) throws {
        switch operation {
        case .enqueue: Enqueue.prefetch(connection)
        case .settle(let settlements): try Settling.prefetch(settlements, connection)
        case .claim(let request):
            if isLeft { break }
            try Claiming.prefetch(request, worker: worker, connection, policies)
        }
    }

    func perform(_ worker: WorkerIdentity, in transaction: Transaction) throws -> StoreAnswer {
        switch operation {
        case .enqueue(let messages, let queue, let durability):
            if messages.isEmpty { return .enqueued([]) }
            return .enqueued(try Enqueue.perform(messages, to: queue, durability: durability, in: transaction))
        case .settle(let settlements):
            return .settled(try Settling.perform(settlements, in: transaction))
        case .claim(let request):
            let limit = isLeft ? 0 : request.limit
            var claim = try Claiming.perform(request, limit: limit, worker: worker, in: transaction)
            (claim.setAside, transaction.setAside) = (transaction.setAside, [])
            return .claimed(claim)
        }
    }

    /// Tells other processes after the commit that this one has claimed, and what it left.
    func tell(_ doorbell: Doorbell?, of answer: StoreAnswer) {
        guard let doorbell, let announced, case .claim(let request) = operation, case .claimed(let claim) = answer
        else { return }
        doorbell.claim(
            at: RingBucket.of(request.queue), tag: RingBucket.tag(of: request.queue), announced: announced,
            isAllThatThereWas: claim.isAll(of: request.limit) && !claim.isWithheld)
    }
}
