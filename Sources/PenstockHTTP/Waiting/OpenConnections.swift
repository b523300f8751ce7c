import NIOCore
import Synchronization

/// The connections of one listener. When it is to end they are closed here, and no task is cancelled for that: SwiftNIO traps when a
/// connection comes while the task that takes them is cancelled.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// A connection was made. It is closed at once when none is wanted any more.
    func add(_ channel: any Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.channels[ObjectIdentifier(channel)] = channel }
            return state.isOver
        }
        if isOver { channel.close(promise: nil) }
    }

    /// A connection has ended.
    func remove(_ channel: any Channel) {
        _ = state.withLock { $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Closes all connections, and each that comes from now on.
    func closeAll() {
        let channels = state.withLock { state in
            state.isOver = true
            defer { state.channels = [:] }
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }
}
