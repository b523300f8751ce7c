import Logging
import Penstock
import PenstockCore
import PenstockFormats
import Subprocess

/// The processes of a command that stays: so many at a time, each started anew when it has ended.
struct Coprocesses: Sendable {
    let coprocess: Coprocess
    let count: Int
    /// How long to wait before a process is started in the place of one that has answered nothing.
    private static let backoff = RetryPolicy(base: .milliseconds(100), cap: .seconds(5), jitter: 0)
    /// So many processes in a row that ended before they had read anything are a command that does not work. They take 20 seconds.
    private static let uselessCountMax = 10

    private var jobs: Jobs { coprocess.jobs }
    private var command: Command { coprocess.command }

    /// Calls `body` while the processes run, and ends them before it returns: those that have nothing in hand find the end of their
    /// standard input, and are stopped when they go on regardless.
    ///
    /// - Parameter onFailure: is told why there can be no process.
    func use<Result: Sendable>(
        in guardians: Guardians, stops: StopRequests, onFailure: @escaping @Sendable (Failure) -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        // A process that has no message in hand holds up no worker.
        try await stops.withRequest(isRun: false) { stop in
            let retirement = StopRequest()
            let watch = Task {
                if await stop.wait(), let cause = stop.cause { jobs.stop(cause) }
            }
            let beginning = Task {
                if await stops.waitForBegin() { jobs.drain() }
            }
            defer {
                watch.cancel()
                beginning.cancel()
            }
            return try await withThrowingTaskGroup(of: Void.self) { keepers in
                for _ in 0..<count { keepers.addTask { await keep(in: guardians, until: retirement, onFailure) } }
                let result = await Swift.Result.of {
                    try await withTaskCancellationHandler {
                        try await body()
                    } onCancel: {
                        // The groups are killed meanwhile, but a process that has left its group may hold a pipe open.
                        jobs.stop(.cancelled)
                    }
                }
                jobs.close()
                retirement.make(.cancelled)
                try await keepers.waitForAll()
                return try result.get()
            }
        }
    }

    /// Keeps one process going.
    private func keep(
        in guardians: Guardians, until retirement: StopRequest, _ onFailure: @Sendable (Failure) -> Void
    ) async {
        var failureCount = 0
        var unread = UnreadLives()
        var isTold = false
        while jobs.isOpen {
            var life: Coprocess.Life?
            do {
                if let shortage = command.shortage() { throw shortage }
                life = try await guardians.withGroup { try await coprocess.run(in: $0) }
                isTold = false
            } catch is CancellationError {
                return jobs.stop(.cancelled)
            } catch let lost as LostProcess {
                return onFailure(fail(lost.failure(of: command.name)))
            } catch {
                guard let shortage = error as? Shortage ?? (error is Failure ? command.shortage() : nil) else {
                    return onFailure(fail(error))
                }
                if !isTold { command.onShortage(shortage) }
                isTold = true
                _ = await retirement.wait(upTo: Command.shortagePause, on: command.clock)
                continue
            }
            failureCount = (life?.answerCount ?? 0) > 0 ? 0 : failureCount + 1
            if let life {
                settle(life)
                unread.add(life)
            }
            if failureCount == 0 { continue }
            if let life, unread.count >= Self.uselessCountMax {
                return onFailure(
                    fail(
                        Failure(
                            .cannotRun,
                            "The command '\(command.name)' has ended \(unread.count) times without reading a message "
                                + "(\(life.end.text)); mend it, and start again.")))
            }
            let delay = Self.backoff.delay(afterAttempt: failureCount, random: 0)
            _ = await retirement.wait(upTo: delay, on: command.clock)
        }
    }

    private func fail(_ error: any Error) -> Failure {
        let failure =
            error as? Failure ?? Failure(.software, "The command '\(command.name)' could not be started: \(error)")
        jobs.fail(failure)
        return failure
    }

    /// Says what becomes of the message that a process had as it ended, and why it did where no message says so.
    private func settle(_ life: Coprocess.Life) {
        if let job = life.unanswered {
            // What nobody has read is no attempt.
            guard life.reason == .closed, life.isUnread else { return jobs.finish(job, .died(life)) }
            jobs.putBack(job)
        }
        switch life.reason {
        case .unasked, .surplus, .tooLong:
            say("wrote to its standard output without being asked; it was stopped, and is started anew")
        case .closed where life.answerCount == 0 || life.end.status != .exited(0):
            say("ended (\(life.end.text)), and is started anew")
        case .closed, .stopped, .retired: return
        }
    }

    private func say(_ what: String) {
        ErrorOutput.say("The command '\(command.name)' \(what).", .warning)
    }
}

/// How many processes in a row have ended before they had read a message. One that reads its message and crashes has failed that message,
/// and says nothing of the command.
struct UnreadLives: Sendable {
    private(set) var count = 0

    /// The next process has ended. One that was stopped, for what it wrote unasked or with the worker, tells neither.
    mutating func add(_ life: Coprocess.Life) {
        if life.hasRead { count = 0 } else if life.reason == .closed { count += 1 }
    }
}
