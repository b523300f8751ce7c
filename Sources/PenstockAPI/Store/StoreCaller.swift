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

    /// Throws a problem with status 403 when he may do none of that with any queue.
    func mayAny(of scopes: Scope...) throws(Problem) {
        if scopes.contains(where: principal.scopes.contains) { return }
        for scope in scopes { try principal.require(scope) }
    }

    /// Throws a problem with status 403 when he may do none of that with the queue.
    func mayAny(of scopes: Scope..., with queue: QueueName) throws(Problem) {
        if scopes.contains(where: { principal.may($0, queue) }) { return }
        for scope in scopes { try principal.require(scope, queue) }
    }

    /// Throws a problem with status 403 when he may do none of that with the queue of one of these messages.
    func mayAny(of scopes: Scope..., withQueuesOf sequences: [SequenceNumber]) async throws {
        if let scope = scopes.first(where: principal.scopes.contains), principal.queues == nil {
            return try principal.require(scope, nil)
        }
        var refusal: (any Error)?
        for scope in scopes {
            do { return try await Lookup(store: store).require(principal, scope, sequences) } catch { refusal = error }
        }
        if let refusal { throw refusal }
    }

    /// Throws a problem with status 403 when he may not carry out one of these verdicts, or enqueue what it brings.
    func may(_ settlements: [Settlement]) async throws {
        try await mayAny(of: .consume, withQueuesOf: settlements.map(\.lease.sequence))
        let brought = settlements.flatMap { $0.drafts.map(\.queue) + ($0.added?.tasks.map(\.queue) ?? []) }
        for queue in Set(brought) { try may(.produce, queue) }
    }

    /// Throws a problem with status 403 when he may not do one of these.
    func may(_ operations: [StoreOperation]) async throws {
        for operation in operations {
            switch operation {
            case .enqueue(_, let queue, _): try may(.produce, queue)
            case .settle(let settlements): try await may(settlements)
            case .claim(let request): try may(.consume, request.queue)
            }
        }
    }

    /// Throws a problem with status 403 when he may not operate, or look at, the queues of a selection.
    func may(_ scope: Scope, _ selection: Selection) async throws {
        switch selection {
        case .sequences(let sequences): try await mayAny(of: scope, withQueuesOf: sequences)
        case .queue(let queue, _, _, _, _, _): try may(scope, queue)
        }
    }
}
