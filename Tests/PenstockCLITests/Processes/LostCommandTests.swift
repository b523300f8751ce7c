import PenstockTestKit
import Subprocess
import Synchronization
import Testing

@testable import PenstockCLI

/// Commands whose end the library that starts them does not see.
@Suite(.timeLimit(.minutes(5)))
struct LostCommandTests {
    /// It is not started once more, also when there is too little of something just then: what it was to do may be done.
    @Test func oneWhoseStatusIsLostEndsTheWorker() async throws {
        await #expect(processExitsWith: .success) {
            var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", "echo begun >&2"])
            // However long a busy machine takes, what it writes is not given up.
            command.clock = ManualClock()
            let startCount = Mutex(0)
            command.shortage = { startCount.withLock { $0 } == 0 ? nil : Shortage(Errno.tooManyOpenFiles) }
            command.onShortage = { _ in exit(22) }
            let failure = try await Guardians.use { [command] guardians in
                do {
                    // The status is taken away from the library while that waits for it.
                    _ = try await command.run(payload: [], variables: [:], in: guardians) { _ in
                        startCount.withLock { $0 += 1 }
                        _ = waitpid(-1, nil, 0)
                    }
                    return Failure?.none
                } catch let failure as Failure {
                    return failure
                }
            }
            guard failure?.message.contains("how it ended cannot be seen") == true else { exit(20) }
            exit(startCount.withLock { $0 } == 1 ? 0 : 21)
        }
    }

    /// The same of a process that stays: the message that it had goes to no other one.
    @Test func oneThatStaysAndWhoseStatusIsLostEndsTheWorker() async throws {
        await #expect(processExitsWith: .success) {
            var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", "read -r line; echo begun >&2"])
            command.clock = ManualClock()
            let startCount = Mutex(0)
            command.shortage = { startCount.withLock { $0 } == 0 ? nil : Shortage(Errno.tooManyOpenFiles) }
            command.onShortage = { _ in exit(22) }
            let coprocess = Coprocess(command: command, framing: .lines, answerBytesMax: 10, variables: [:]) { _ in
                startCount.withLock { $0 += 1 }
                _ = waitpid(-1, nil, 0)
            }
            guard case .failed(let failure) = try await LostCommandTests.reply(of: coprocess) else { exit(20) }
            guard failure.message.contains("how it ended cannot be seen") else { exit(21) }
            exit(startCount.withLock { $0 } == 1 ? 0 : 23)
        }
    }

    /// As where the system had no descriptor of it for the library, which waits for ever then.
    @Test func oneThatIsWaitedForForEverIsKilledAndEndsTheWorker() async throws {
        let pipe = try TestPipe()
        var command = Command(
            path: "/bin/sh", name: "sh", arguments: ["-c", "trap '' TERM; exec sleep 1000"], output: pipe.writeEnd)
        command.clock = ManualClock()
        command.isUnseen = { _ in true }
        let failure = await #expect(throws: Failure.self) {
            try await Guardians.use { [command] guardians in
                _ = try await command.run(payload: [], variables: [:], in: guardians) { _ in }
            }
        }
        try pipe.closeWriteEnd()
        #expect(failure?.status == .software)
        #expect(failure?.message.contains("how it ended cannot be seen") == true)
        // It is gone.
        #expect(try await pipe.readToEnd() == [])
    }

    /// The same of a process that stays: it is given no message.
    @Test func oneThatStaysAndIsWaitedForForEverEndsTheWorker() async throws {
        var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", "trap '' TERM; exec sleep 1000"])
        command.clock = ManualClock()
        command.isUnseen = { _ in true }
        let coprocess = Coprocess(
            command: command, framing: .lines, answerBytesMax: 10, variables: [:], passError: { _ in })
        guard case .failed(let failure) = try await Self.reply(of: coprocess) else {
            Issue.record("It has answered.")
            return
        }
        #expect(failure.status == .software)
        #expect(failure.message.contains("how it ended cannot be seen"))
    }

    @Test func aGuardianThatIsWaitedForForEverGuardsNothing() async throws {
        let failure = await #expect(throws: Failure.self) { _ = try await Guardian.start(isUnseen: { _ in true }) }
        #expect(failure?.message.contains("cannot be watched") == true)
    }

    /// What comes of a message for the one process that is kept going.
    static func reply(of coprocess: Coprocess) async throws -> Jobs.Reply {
        try await Guardians.use { guardians in
            try await Coprocesses(coprocess: coprocess, count: 1).use(
                in: guardians, stops: StopRequests(), onFailure: { _ in }
            ) {
                await coprocess.jobs.ask(Array("a\n".utf8))
            }
        }
    }
}
