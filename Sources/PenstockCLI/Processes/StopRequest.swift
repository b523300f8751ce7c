import Synchronization

/// Somebody's wish that a command should end.
final class StopRequest: Sendable {
    private let isMadeFlag = Mutex(false)
    private let made: AsyncStream<Void>
    private let making: AsyncStream<Void>.Continuation

    init() {
        (made, making) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    var isMade: Bool { isMadeFlag.withLock { $0 } }

    /// Makes the request. Once is enough.
    func make() {
        isMadeFlag.withLock { $0 = true }
        making.yield()
    }

    /// Returns once the request is made; `false` when the task was cancelled first.
    func wait() async -> Bool {
        for await _ in made { return true }
        return false
    }
}
