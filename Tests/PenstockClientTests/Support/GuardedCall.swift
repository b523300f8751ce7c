import PenstockClient
import PenstockCore
import PenstockHTTP

/// A call of the store protocol about what is in ``FurnishedStore/other``, and what a token needs for it.
struct GuardedCall: Sendable {
    /// How far a token has to reach.
    enum Reach: Sendable {
        /// To the queue that the call is about.
        case queue
        /// To any queue: the scope is enough for what the call does or tells.
        case anyQueue
        /// To all queues.
        case wholeStore
    }

    typealias Make = @Sendable (RemoteStore, FurnishedStore) async throws -> Void

    /// The number of the call.
    let id: UInt8
    /// What is asked for, for the reader of a failed test.
    let what: String
    /// A token needs one of these.
    let scopes: Set<Scope>
    let reach: Reach
    let make: Make

    /// A token that lacks what is needed, and has all else, for all queues; `nil`: any scope will do.
    var tokenWithout: (name: String, rights: String)? {
        let others = Scope.allCases.filter { !scopes.contains($0) }.map(\.rawValue)
        return others.isEmpty ? nil : ("only-\(others.joined(separator: "-"))", others.joined(separator: ","))
    }
}

/// Calls, in the order in which they were added.
struct GuardedCalls {
    private(set) var all: [GuardedCall] = []

    /// Adds a call.
    mutating func add(
        _ id: UInt8, _ what: String, _ scopes: Set<Scope>, _ reach: GuardedCall.Reach = .queue,
        _ make: @escaping GuardedCall.Make
    ) {
        all.append(GuardedCall(id: id, what: what, scopes: scopes, reach: reach, make: make))
    }
}
