import PenstockCore
import Synchronization

/// The guardians of a worker: one, and as many as commands ran at once, each used for one command after another.
///
/// One that nobody uses for a while is ended: the library that waits for its process wakes up for it every second.
final class Guardians: Sendable {
    private struct State {
        /// By when they were last used, the latest at the end, with the round of that.
        var idle: [(guardian: Guardian, round: Int)] = []
        var busy: [Int32: Guardian] = [:]
        var isKilled = false
        var round = 0
    }

    /// How long a round is. A guardian that is not used in a whole one is ended.
    static let rest = Duration.seconds(10)

    private let state = Mutex(State())
    private let clock: any Clock<Duration>
    /// Says when a guardian is left.
    private let departures: AsyncStream<Void>
    private let departing: AsyncStream<Void>.Continuation

    /// Makes no guardians yet.
    init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
        (departures, departing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Calls `body`, and ends all guardians before it returns.
    ///
    /// When the calling task is cancelled, every group is killed at once.
    func use<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        // A command that ends without reading its payload must not end this process.
        _ = signal(SIGPIPE, SIG_IGN)
        // Where a parent had its children's ends ignored, and left it so, the system would forget how a command has ended.
        _ = signal(SIGCHLD, SIG_DFL)
        // Cancelled, and waited for, when this returns.
        async let _ = retireIdle()
        // The first process that is started takes threads as well. Where there is too little, nothing is begun.
        do {
            add(try await Guardian.start())
        } catch let shortage as Shortage {
            throw Failure(
                .temporary,
                "Commands cannot be started (\(shortage.reason)); raise the bound with `ulimit -u` or `ulimit -n`, or end "
                    + "some processes.")
        }
        let result = await Swift.Result.of {
            try await withTaskCancellationHandler {
                try await body()
            } onCancel: {
                killAll()
            }
        }
        while let (guardian, _) = state.withLock({ $0.idle.popLast() }) { await guardian.end() }
        return try result.get()
    }

    /// Calls `body` with the process group of a guardian that nobody else uses meanwhile. A group that lost its
    /// leader is not used again.
    func withGroup<Result: Sendable>(_ body: (ProcessGroup) async throws -> Result) async throws -> Result {
        let guardian = try await take()
        let result = await Swift.Result.of { try await body(guardian.group) }
        let isKept = state.withLock { state in
            state.busy[guardian.group.id] = nil
            guard guardian.group.isLed, !state.isKilled else { return false }
            state.idle.append((guardian, state.round))
            return true
        }
        if isKept { departing.yield() } else { await guardian.end() }
        return try result.get()
    }

    private func add(_ guardian: Guardian) {
        state.withLock { $0.idle.append((guardian, $0.round)) }
        departing.yield()
    }

    private func take() async throws -> Guardian {
        while true {
            guard let (guardian, _) = state.withLock({ $0.idle.popLast() }) else { break }
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

    /// Ends the guardians that nobody uses, until the task is cancelled. Sleeps on while there are none.
    private func retireIdle() async {
        for await _ in departures {
            var hasIdle = true
            while hasIdle {
                guard (try? await clock.sleep(for: Self.rest)) != nil else { return }
                let retired = state.withLock { state in
                    let retired = state.idle.prefix { $0.round < state.round }
                    state.idle.removeFirst(retired.count)
                    state.round += 1
                    hasIdle = !state.idle.isEmpty
                    return retired
                }
                for (guardian, _) in retired { await guardian.end() }
            }
        }
    }

    private func killAll() {
        state.withLock { state in
            state.isKilled = true
            for guardian in state.busy.values { guardian.group.kill() }
        }
    }
}
