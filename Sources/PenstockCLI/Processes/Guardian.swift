import PenstockCore
import Subprocess

/// A small process that sees to it that no command outlives this process.
///
/// It leads a process group of its own, into which commands are started, and reads from a pipe that only this process
/// holds open. When this process ends, by whatever cause, the kernel closes the pipe; the guardian reads its end and
/// kills the whole group: itself, the commands, and what they have started. (Only a process that leaves the group on
/// purpose, as a daemon does, escapes.) When the guardian itself ends before its time, its group is killed as well.
struct Guardian: Sendable {
    /// The group that commands are started into.
    let group: ProcessGroup
    private let retirement: AsyncStream<Never>.Continuation
    /// Its process has ended, or nothing will tell when it has.
    private let gone: Latch

    /// A command's group gets SIGTERM when it is to stop, and that must not reach the guardian; nor may what a
    /// terminal sends. It says when it is so far: before that a SIGTERM would end it, and with it the command.
    private static let script = "trap '' TERM INT HUP QUIT TSTP; echo >&2; read -r _; kill -s KILL 0"

    /// Starts a guardian. The caller must ``end()`` it.
    ///
    /// - Parameter isUnseen: whether the library that has started a process never sees its end.
    /// - Throws: ``Shortage``, or ``Failure`` when it cannot be started for another reason.
    static func start(
        isUnseen: @escaping @Sendable (ProcessIdentifier) -> Bool = ChildProcess.isUnseen
    ) async throws -> Guardian {
        let (retired, retirement) = AsyncStream.makeStream(of: Never.self)
        let (started, starting) = AsyncThrowingStream.makeStream(of: ProcessGroup.self)
        let gone = Latch()
        // A task of its own, because a guardian serves many calls and is no one call's; `end` waits for it.
        Task {
            do {
                var options = PlatformOptions()
                options.processGroupID = 0
                _ = try await Subprocess.run(
                    .path("/bin/sh"), arguments: ["-c", script], environment: .custom([Environment.Key: String]()),
                    platformOptions: options, input: .inputWriter, output: .discarded, error: .sequence
                ) { execution in
                    let group = ProcessGroup(id: execution.processIdentifier.value)
                    if isUnseen(execution.processIdentifier) {
                        group.disband()
                        starting.finish(throwing: LostProcess())
                        gone.open()
                        return
                    }
                    ChildProcess.shareNiceValue(with: group.id)
                    func begin() {
                        starting.yield(group)
                        starting.finish()
                    }
                    defer {
                        group.disband()
                        // One that was killed before it was ready is found without a leader, and replaced.
                        begin()
                    }
                    await withTaskGroup(of: Void.self) { events in
                        events.addTask { for await _ in retired {} }
                        // It writes there once, so this ends when the guardian does.
                        events.addTask {
                            _ = try? await execution.standardError.first { _ in
                                begin()
                                return false
                            }
                        }
                        await events.next()
                        events.cancelAll()
                    }
                }
            } catch {
                starting.finish(throwing: error)
            }
            gone.open()
        }
        do {
            for try await group in started {
                return Guardian(group: group, retirement: retirement, gone: gone)
            }
        } catch {
            await gone.waitThoughCancelled()
            if let lost = error as? LostProcess {
                throw Failure(
                    .software,
                    "The process that guards the command cannot be watched (\(lost.reason)); start the worker anew.")
            }
            if let shortage = Shortage(error) { throw shortage }
            throw Failure(
                .cannotRun, "`work` guards its commands by a process of /bin/sh, which could not be started: \(error)")
        }
        // The stream ends without a group when this task is cancelled.
        retirement.finish()
        await gone.waitThoughCancelled()
        throw CancellationError()
    }

    /// Kills the group, and returns when the guardian is gone.
    func end() async {
        retirement.finish()
        await gone.waitThoughCancelled()
    }
}
