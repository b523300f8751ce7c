#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
import Synchronization

/// The guardians of a worker: as many as commands ran at once, each used for one command after another.
final class Guardians: Sendable {
    private struct State {
        var idle: [Guardian] = []
        var busy: [Int32: Guardian] = [:]
        var isKilled = false
    }

    private let state = Mutex(State())

    /// Makes no guardians yet: they start when they are needed.
    init() {}

    /// Calls `body`, and ends all guardians before it returns.
    ///
    /// When the calling task is cancelled, every group is killed at once.
    func use<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        // A command that ends without reading its payload must not end this process.
        _ = signal(SIGPIPE, SIG_IGN)
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(
                try await withTaskCancellationHandler {
                    try await body()
                } onCancel: {
                    killAll()
                })
        } catch {
            result = .failure(error)
        }
        for guardian in state.withLock({ $0.idle }) { await guardian.end() }
        return try result.get()
    }

    /// Calls `body` with guardians, and ends them all before it returns.
    static func use<Result: Sendable>(_ body: (Guardians) async throws -> Result) async throws -> Result {
        let guardians = Guardians()
        return try await guardians.use { try await body(guardians) }
    }

    /// Calls `body` with the process group of a guardian that nobody else uses meanwhile. A group that lost its
    /// leader is not used again.
    func withGroup<Result: Sendable>(_ body: (ProcessGroup) async throws -> Result) async throws -> Result {
        let guardian = try await take()
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(guardian.group))
        } catch {
            result = .failure(error)
        }
        let isKept = state.withLock { state in
            state.busy[guardian.group.id] = nil
            guard guardian.group.isLed, !state.isKilled else { return false }
            state.idle.append(guardian)
            return true
        }
        if !isKept { await guardian.end() }
        return try result.get()
    }

    private func take() async throws -> Guardian {
        while true {
            guard let guardian = state.withLock({ $0.idle.popLast() }) else { break }
            if guardian.group.isLed { return register(guardian) }
            await guardian.end()
        }
        return register(try await Guardian.start())
    }

    private func register(_ guardian: Guardian) -> Guardian {
        state.withLock { state in
            state.busy[guardian.group.id] = guardian
            if state.isKilled { guardian.group.kill() }
        }
        return guardian
    }

    private func killAll() {
        state.withLock { state in
            state.isKilled = true
            for guardian in state.busy.values { guardian.group.kill() }
        }
    }
}
