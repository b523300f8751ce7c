import NIOCore
import Synchronization

/// Whether the client of a connection is still there for the answer.
final class ClientPresence: Sendable {
    private struct State {
        var isGone = false
        var calls: [Int: @Sendable () -> Void] = [:]
        var callCount = 0
    }

    /// Those of all open connections of this process: a request knows its connection by the channel, and nothing else of it.
    private static let open = Mutex<[ObjectIdentifier: ClientPresence]>([:])

    private let state = Mutex(State())
    private let id: ObjectIdentifier

    /// The client of a connection that has just been made.
    init(of channel: any Channel) {
        id = ObjectIdentifier(channel)
        Self.open.withLock { $0[id] = self }
    }

    /// `nil`: the connection is over.
    static func of(_ channel: any Channel) -> ClientPresence? {
        open.withLock { $0[ObjectIdentifier(channel)] }
    }

    /// The connection is over.
    func close() {
        _ = Self.open.withLock { $0.removeValue(forKey: id) }
        end()
    }

    /// Whether the client has closed the connection, or its own half of it.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// The client is gone.
    func end() {
        let calls = state.withLock { state in
            state.isGone = true
            defer { state.calls = [:] }
            return Array(state.calls.values)
        }
        for call in calls { call() }
    }

    /// Has `call` called, once, when the client is gone; at once, if it is.
    ///
    /// - Returns: what to ``forget(_:)``.
    func whenGone(_ call: @escaping @Sendable () -> Void) -> Int {
        let (id, isGone) = state.withLock { state in
            state.callCount += 1
            if !state.isGone { state.calls[state.callCount] = call }
            return (state.callCount, state.isGone)
        }
        if isGone { call() }
        return id
    }

    /// Calls it no more.
    func forget(_ id: Int) {
        _ = state.withLock { $0.calls.removeValue(forKey: id) }
    }
}
