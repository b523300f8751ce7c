import Penstock
import PenstockCore
import PenstockHTTP

/// Somebody who calls the store of this server from another program, and what he may do with it.
struct StoreCaller: Sendable {
    let store: PenstockStore
    let principal: Principal

    /// Throws a problem with status 403 when he may not do that with the queue; `nil`: with the whole store.
    func may(_ scope: Scope, _ queue: QueueName?) throws(Problem) { try principal.require(scope, queue) }

    /// Throws a problem with status 403 when he may do that with no queue.
    func may(_ scope: Scope) throws(Problem) { try principal.require(scope) }

    /// Throws a problem with status 403 when he may do none of that with the queue.
    func mayAny(of scopes: Scope..., with queue: QueueName) throws(Problem) {
        if scopes.contains(where: { principal.may($0, queue) }) { return }
        // Of a scope that he has it is the queue that is in the way, and that is what he has to know.
        guard let scope = scopes.first(where: principal.scopes.contains) ?? scopes.first else { return }
        try principal.require(scope, queue)
    }

    /// Throws a problem with status 403 when he may do none of that with the queue of one of these messages.
    ///
    /// - Parameter mayBeGone: as of ``Lookup/require(_:_:_:mayBeGone:)``.
    func mayAny(
        of scopes: Scope..., withQueuesOf sequences: [SequenceNumber], mayBeGone: Bool = false
    ) async throws {
        if let scope = scopes.first(where: principal.scopes.contains), principal.queues == nil {
            return try principal.require(scope, nil)
        }
        let held = scopes.filter(principal.scopes.contains)
        var refusal: (any Error)?
        for scope in held.isEmpty ? scopes : held {
            do {
                return try await Lookup(store: store).require(principal, scope, sequences, mayBeGone: mayBeGone)
            } catch { refusal = error }
        }
        if let refusal { throw refusal }
    }

    /// Throws a problem with status 403 when he may not carry out one of these verdicts, or enqueue what it brings, and with 413 when they
    /// bring too much for one transaction. One alone has the store's own bounds, as nobody could make several of it: so a worker hands in what
    /// was refused with others.
    func may(_ settlements: [Settlement]) async throws {
        if settlements.count > 1 { try TransactionSize(of: [.settle(settlements)]).requireRoom() }
        try await mayCarryOut(settlements)
    }

    private func mayCarryOut(_ settlements: [Settlement]) async throws {
        try await mayAny(of: .consume, withQueuesOf: settlements.map(\.lease.sequence), mayBeGone: true)
        let brought = settlements.flatMap { $0.drafts.map(\.queue) + ($0.added?.tasks.map(\.queue) ?? []) }
        for queue in Set(brought) { try may(.produce, queue) }
        for draft in settlements.lazy.flatMap(\.drafts) { try ReservedKeys.refuse(draft.message.uniqueKey) }
        try await mayCopy(
            settlements.flatMap { $0.drafts.map(\.message) + ($0.added?.tasks.map(\.message) ?? []) })
    }

    /// Throws a problem with status 403 when he may not enqueue these.
    func may(_ messages: [NewMessage], to queue: QueueName) async throws {
        try may(.produce, queue)
        for message in messages { try ReservedKeys.refuse(message.uniqueKey) }
        try await mayCopy(messages)
    }

    /// Throws a problem when he may not start that workflow.
    func may(_ workflow: NewWorkflow) async throws {
        try may(.produce)
        for queue in Set(workflow.tasks.map(\.queue)) { try may(.produce, queue) }
        try await mayCopy(workflow.tasks.map(\.message))
    }

    /// Throws a problem when one of these names as its origin a message that he may neither read nor work: it would be shown as a copy of
    /// that one, which he does not know. One that is gone may have been forgotten since it was read, and so may be any number: nothing
    /// goes anywhere by an origin alone.
    private func mayCopy(_ messages: [NewMessage]) async throws {
        let origins = messages.compactMap(\.origin)
        if !origins.isEmpty { try await mayAny(of: .read, .consume, withQueuesOf: origins, mayBeGone: true) }
    }

    /// Throws a problem with status 403 when he may not do one of these, and with 413 when they are too many for one transaction.
    func may(_ operations: [StoreOperation]) async throws {
        try TransactionSize(of: operations).requireRoom()
        for operation in operations {
            switch operation {
            case .enqueue(let messages, let queue, _): try await may(messages, to: queue)
            case .settle(let settlements): try await mayCarryOut(settlements)
            case .claim(let request): try may(.consume, request.queue)
            }
        }
    }

    /// Throws a problem with status 403 when the change has a queue share a limit, and the limits are not his.
    func mayShareLimits(_ queue: QueueName, _ change: QueueChange) async throws {
        if principal.queues == nil { return }
        switch change {
        case .create(let policy, _): try principal.requireSharing(policy.sharedLimit, insteadOf: nil)
        case .set(let policy, _):
            let before = try await store.status(of: queue).policy
            try principal.requireSharing(policy.sharedLimit, insteadOf: before.sharedLimit)
        default: break
        }
    }

    /// Throws a problem with status 403 when he may not have that forgotten.
    func may(_ request: PruneRequest) async throws {
        // What a queue's own policy says goes with any worker. Another retention is an operator's decision.
        if request.retention == nil { return try may(.consume) }
        try may(.operate, request.queue)
        guard request.queue == nil, try await hasAudit else { return }
        throw Problem.forbidden(
            "A retention for all queues is one for the audit as well, which nobody changes by this server; name the queue."
        )
    }

    private var hasAudit: Bool {
        get async throws {
            do { _ = try await store.status(of: ReservedQueues.audit) } catch let error as PenstockError
                where error.code == .unknownQueue
            { return false }
            return true
        }
    }

    /// Throws a problem with status 403 when there is a schedule of that name, and its queue is not his to operate.
    ///
    /// Nor may he replace one that is not there yet: it could be another's by the time of the call. His client makes it then.
    func mayChange(_ schedule: ScheduleName, by change: ScheduleChange) async throws {
        if principal.queues == nil { return }
        do {
            try await may(.operate, schedule)
        } catch let error as PenstockError where error.code == .unknownSchedule {
            if case .put(_, replacing: true) = change { throw error }
        }
    }

    /// Throws a problem with status 403 when he may look at no schedule, or not at that one.
    func mayLook(at schedule: ScheduleName?) async throws {
        try may(.read)
        if let schedule, principal.queues != nil { try await may(.read, schedule) }
    }

    /// Throws a problem with status 403 when he may not do that with the schedule's queue; `unknownSchedule` when there is none.
    private func may(_ scope: Scope, _ schedule: ScheduleName) async throws {
        for record in try await store.storage.schedules(schedule) {
            try principal.require(scope, record.schedule.queue, ofSchedule: schedule)
        }
    }

    /// What a claim gave. What it has set aside does not travel, and is told here.
    func told(_ claim: Claim) -> Claim {
        store.tell(of: claim.setAside)
        return claim
    }

    /// What became of operations, of which one may have failed behind others.
    func told(_ performed: Performed) -> Performed {
        for case .claimed(let claim) in performed.answers { store.tell(of: claim.setAside) }
        return Performed(
            answers: performed.answers,
            failure: (performed.failure as? PenstockError)?.toldToClients ?? performed.failure)
    }

    /// What he may know of messages that were asked for by number. One of another queue may have come since its number was looked at.
    func told(_ page: MessagePage) -> MessagePage {
        if principal.queues == nil { return page }
        return MessagePage(records: page.records.filter { principal.may(.read, $0.queue) }, next: page.next)
    }

    /// Throws unless he may know what that message's steps have given so far: he may look at its queue, or may work on it and some worker
    /// has the message. What came of those that others have done is not for him.
    ///
    /// - Throws: a problem with status 403; `leaseLost` when he may only work and no worker has it; `unknownMessage`.
    func mayKnowSteps(of sequence: SequenceNumber) async throws {
        // One token's scopes are for the same queues.
        guard principal.scopes.contains(.consume), !principal.scopes.contains(.read) else {
            return try await mayAny(of: .read, .consume, withQueuesOf: [sequence])
        }
        let record = try await Lookup(store: store).message(sequence, principal, .consume)
        guard record.state == .leased else {
            throw PenstockError(
                .leaseLost,
                "No worker has the message \(sequence), and a token without the scope 'read' is told of no other; claim it first."
            )
        }
    }

    /// What he may know of the store: his queues, and the cursors of those that he may look at. Workers are of all.
    func told(_ status: StoreStatus) -> StoreStatus {
        if principal.may(.read, nil) { return status }
        func isHis(_ queue: QueueName) -> Bool { Scope.allCases.contains { principal.may($0, queue) } }
        var status = status
        status.workers = []
        status.queues.removeAll { !isHis($0.name) }
        // Beside them lie the notes of readers, and what an operator has said of the queue.
        status.cursors.removeAll { !principal.may(.read, $0.queue) }
        return status
    }

    /// What he may know of schedules: those of his queues.
    func told(_ schedules: [ScheduleRecord]) -> [ScheduleRecord] {
        schedules.filter { principal.may(.read, $0.schedule.queue) }
    }

    /// A page of schedules, of those that he may know of. What is left out makes it no shorter: a page with room left is the last one.
    func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        if principal.may(.read, nil) { return try await store.storage.schedules(page: query) }
        try query.validate()
        let principal = principal
        return try await store.storage.schedules(after: query.after, limit: query.limit) {
            principal.may(.read, $0.schedule.queue)
        }.records
    }

    /// What he may know of a workflow that he has started. One of that name may have been another's.
    func told(_ started: StartedWorkflow) async throws -> StartedWorkflow {
        try await Lookup(store: store).require(principal, toKnow: started)
        return started
    }

    /// Throws a problem with status 403 when he may not operate, or look at, the queues of a selection, and with 413 when it names too
    /// many messages.
    func may(_ scope: Scope, _ selection: Selection) async throws {
        switch selection {
        case .sequences(let sequences):
            try TransactionSize.requireRoom(forCommandOn: sequences.count)
            try await mayAny(of: scope, withQueuesOf: sequences)
        case .queue(let queue, _, _, _, _, _): try may(scope, queue)
        }
    }
}
