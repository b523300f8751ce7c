package import PenstockCore
import Synchronization
import PenstockProcesses

/// One caller's part of a transaction. The caller is a task that waits for the answer.
///
/// Only what makes one knows the type of the answer: the writer's thread asks each job ten times, and would look the type up each time.
package final class Job: Sendable {
    package typealias Check<Answer> = @Sendable (Connection, PolicyCache, Timestamp) throws -> Answer?
    package typealias Prefetch = @Sendable (Connection, PolicyCache) throws -> Void
    /// The same call for another process to carry out, and what its receipts are to the caller.
    package typealias Posted<Answer> = (call: PostedCall, answer: @Sendable ([Receipt]) -> Answer)
    package typealias Unflushed<Answer> = @Sendable (Answer, any Error) -> Answer
    /// Gives the caller an answer that was found, or says why it came to nothing.
    private typealias Reply = @Sendable (_ error: (any Error)?) -> Void

    private enum Outcome {
        case open, refused(PenstockError)
        case done(Reply)
        /// The caller has its answer, and only the flush is still to be told.
        case answered
    }

    package let durability: Durability?
    package let weight: Int
    /// Until when the caller waits for the right to write.
    package let deadline: ContinuousClock.Instant
    /// The same work for another process to carry out; `nil` when this one has to.
    package let postedCall: PostedCall?
    private let duringMove: Departure.Allowance
    private let readOnlyCheck: (@Sendable (Connection, PolicyCache, Timestamp) throws -> Reply?)?
    private let prefetch: Prefetch?
    private let flushed: (any MessageStore).Flushed?
    private let body: @Sendable (Transaction) throws -> Reply
    private let replyToReceipts: (@Sendable ([Receipt]) -> Reply)?
    private let fail: @Sendable (any Error) -> Void
    private let outcome = Mutex(Outcome.open)

    package init<Answer: Sendable>(
        durability: Durability? = nil,
        weight: Int = 1,
        duringMove: Departure.Allowance = .nothing,
        check: Check<Answer>?,
        deadline: ContinuousClock.Instant,
        posted: Posted<Answer>? = nil,
        unflushed: Unflushed<Answer>? = nil,
        flushed: (any MessageStore).Flushed? = nil,
        prefetch: Prefetch? = nil,
        body: @escaping @Sendable (Transaction) throws -> Answer,
        continuation: CheckedContinuation<Answer, any Error>
    ) {
        let reply: @Sendable (Answer) -> Reply = { answer in
            { error in
                guard let error else { return continuation.resume(returning: answer) }
                if let unflushed, (error as? PenstockError)?.code == .outcomeUnknown {
                    continuation.resume(returning: unflushed(answer, error))
                } else {
                    continuation.resume(throwing: error)
                }
            }
        }
        self.durability = durability
        self.weight = weight
        self.duringMove = duringMove
        self.prefetch = prefetch
        self.flushed = flushed
        self.deadline = deadline
        self.body = { try reply(body($0)) }
        fail = { continuation.resume(throwing: $0) }
        if let check { readOnlyCheck = { try check($0, $1, $2).map(reply) } } else { readOnlyCheck = nil }
        postedCall = posted?.call
        if let posted { replyToReceipts = { reply(posted.answer($0)) } } else { replyToReceipts = nil }
    }

    /// Whether ``check(_:_:now:)`` may answer without a transaction.
    package var canCheck: Bool { readOnlyCheck != nil }

    /// Whether the answer, once it is committed, must also be on the disk. A refusal need not.
    package var awaitsFlush: Bool {
        guard durability == .powerLoss else { return false }
        return switch outcome.withLock({ $0 }) {
        case .done, .answered: true
        case .open, .refused: false
        }
    }

    /// Finds out by reading whether there is anything to do; answers the caller and returns true if not.
    package func check(_ connection: Connection, _ policies: PolicyCache, now: Timestamp) throws -> Bool {
        do {
            guard let reply = try readOnlyCheck?(connection, policies, now) else { return false }
            reply(nil)
            flushed?(nil)
        } catch let error as PenstockError {
            fail(error)
        }
        return true
    }

    /// Says what ``perform(in:)`` is about to read. Whatever it says, the answer is the same.
    package func prefetch(_ connection: Connection, _ policies: PolicyCache) throws {
        try prefetch?(connection, policies)
    }

    /// Does the work and keeps the answer, a refusal included. Throws only what must undo the whole transaction.
    package func perform(in transaction: Transaction) throws {
        do {
            try transaction.departure?.refuse(unless: duringMove)
            let reply = try body(transaction)
            outcome.withLock { $0 = .done(reply) }
        } catch let error as PenstockError where error.isRefusal {
            outcome.withLock { $0 = .refused(error) }
        }
    }

    /// Keeps the answer of the process that has carried out the ``postedCall``.
    package func accept(_ receipts: [Receipt]) {
        if let replyToReceipts { outcome.withLock { $0 = .done(replyToReceipts(receipts)) } }
    }

    /// It is committed, and not on the disk yet: answers a caller that does not wait for that.
    ///
    /// - Returns: whether the caller has its answer.
    package func answerUnflushed() -> Bool {
        guard flushed != nil, case .done(let reply) = outcome.withLock({ $0 }) else { return false }
        outcome.withLock { $0 = .answered }
        reply(nil)
        return true
    }

    /// Gives the caller its answer: that of ``perform(in:)`` or, when the transaction came to nothing, `error`.
    package func finish(_ error: (any Error)?) {
        switch outcome.withLock({ $0 }) {
        case .answered:
            flushed?(error)
        case .done(let reply):
            reply(error)
            if error == nil { flushed?(nil) }
        case .refused(let refusal):
            fail(error ?? refusal)
        case .open:
            fail(error ?? PenstockError(.storage, "The transaction ended without an answer."))
        }
    }
}

extension PenstockError {
    /// Whether the call was refused before its first write, because of what was asked. Anything else may have come in
    /// the middle of it, and what it has written must not be committed.
    package var isRefusal: Bool {
        switch code {
        case .invalidInput, .unknownSchedule, .unknownLimit, .scheduleExists, .unknownWorkflow, .unknownTask,
            .unknownQueue,
            .queueDeleting, .queueExists, .policyChanged, .storeMoved,
            .unknownMessage, .unknownCursor, .queueFull,
            .illegalTransition, .leaseLost:
            true
        default:
            false
        }
    }
}

extension [Job] {
    /// Carries out what other processes have asked for, and then the jobs, enqueues of a few messages together; and writes all of it down.
    package func perform(
        with requests: inout [PostedRequest], _ answers: any AnswerRows, in transaction: Transaction
    ) throws {
        let new = try requests.indices.filter { try !requests[$0].isKnown(to: answers, transaction.connection) }
        var left = new
        var done: Set<ObjectIdentifier> = []
        // Whether a call is refused is for each to be told.
        if transaction.departure == nil {
            let callers = compactMap { job in job.postedCall.map { (job: job, call: $0.call) } }
            let groups = new.map { requests[$0].calls.map(\.call) } + callers.map { [$0.call] }
            // One call has no other to go with.
            let receipts: [[[Receipt]]?] =
                groups.joined().count > 1
                ? try Enqueue.performTogether(groups, in: transaction) : groups.map { _ in nil }
            left = []
            for (index, given) in zip(new, receipts) {
                if let given { requests[index].accept(given) } else { left.append(index) }
            }
            for (caller, given) in zip(callers, receipts.dropFirst(new.count)) {
                guard let given = given?.first else { continue }
                caller.job.accept(given)
                done.insert(ObjectIdentifier(caller.job))
            }
        }
        for index in left { try requests[index].perform(in: transaction) }
        for job in self where !done.contains(ObjectIdentifier(job)) { try job.perform(in: transaction) }
        if !new.isEmpty {
            let given = new.map { index in
                let taken = requests[index].taken
                return RequestAnswer(slot: taken.slot, ticket: taken.ticket, bytes: requests[index].answer)
            }
            try answers.write(given, transaction.connection)
        }
        try Cascade.writeDown(in: transaction)
        try transaction.writeDown()
    }
}
