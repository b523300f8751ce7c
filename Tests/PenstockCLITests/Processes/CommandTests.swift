import Foundation
import PenstockTestKit
import Subprocess
import Synchronization
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct CommandTests {
    private func shell(_ script: String, output: FileDescriptor = .standardOutput) -> Command {
        var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", script])
        command.output = output
        return command
    }

    private func run(
        _ command: Command, _ payload: [UInt8] = [], variables: [Environment.Key: String?] = [:],
        in guardians: Guardians
    ) async throws -> Command.End {
        try await command.run(payload: payload, variables: variables, in: guardians) { _ in }
    }

    private func runAlone(_ script: String, _ payload: [UInt8] = []) async throws -> Command.End {
        try await Guardians.use { try await run(shell(script), payload, in: $0) }
    }

    @Test(arguments: [0, 1, 100_000, 3_000_000])
    func thePayloadIsItsStandardInput(count: Int) async throws {
        let pipe = try TestPipe()
        var random = Seeded(6)
        let payload = random.bytes(count)
        async let output = pipe.readToEnd()
        let end = try await Guardians.use { guardians in
            try await run(
                Command(path: "/bin/cat", name: "cat", arguments: [], output: pipe.writeEnd), payload, in: guardians)
        }
        try pipe.closeWriteEnd()
        #expect(end == Command.End(status: .exited(0), errorTail: ""))
        #expect(try await output == payload)
    }

    @Test func itsStatusAndTheEndOfItsErrorsAreKept() async throws {
        #expect(
            try await runAlone("echo first >&2; echo 'it is broken' >&2; exit 3")
                == Command.End(status: .exited(3), errorTail: "first\nit is broken"))
        #expect(try await runAlone("kill -9 $$").status == .signaled(9))
    }

    @Test func whatItWritesToStandardErrorIsPassedOn() async throws {
        let passed = Mutex<[UInt8]>([])
        let end = try await Guardians.use { guardians in
            try await shell("yes 0123456789 | head -n 20000 >&2; exit 1")
                .run(payload: [], variables: [:], in: guardians) { bytes in passed.withLock { $0 += bytes } }
        }
        #expect(passed.withLock { $0.count } == 220_000)
        #expect(end.errorTail.utf8.count <= Command.errorTailBytesMax)
        #expect(end.errorTail.hasSuffix("\n0123456789\n0123456789"))
    }

    @Test(arguments: ["true", "exec <&-; exit 0", "head -c 1 >/dev/null", "exec 3<&0; sleep 1000 <&3 & exit 0"])
    func aPayloadThatIsNotReadIsNoError(script: String) async throws {
        let end = try await runAlone(script, [UInt8](repeating: 0x61, count: 1_000_000))
        #expect(end.status == .exited(0))
    }

    @Test func variablesAreAddedAndTakenAway() async throws {
        // One that this process has already: to set one while other tests read them would be a race.
        let own: Set = ["HOME", "IFS", "OLDPWD", "PATH", "PWD", "SHLVL", "_"]
        let inherited = try #require(
            ProcessInfo.processInfo.environment.keys.first { name in
                !own.contains(name) && !name.hasPrefix("PENSTOCK")
                    && name.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "_") }
            })
        let pipe = try TestPipe()
        let script = "echo \"$PENSTOCK_SEQUENCE ${\(inherited)-none}\""
        _ = try await Guardians.use {
            try await run(
                shell(script, output: pipe.writeEnd),
                variables: ["PENSTOCK_SEQUENCE": "12 \"quoted\"\n", .init(stringLiteral: inherited): nil], in: $0)
        }
        try pipe.closeWriteEnd()
        #expect(String(decoding: try await pipe.readToEnd(), as: UTF8.self) == "12 \"quoted\"\n none\n")
    }

    /// Something in the background that holds the output and the errors open does not hold up the end, and goes when
    /// the guardians do.
    @Test(arguments: ["sleep 1000 & exit 4", "yes >&2 & exit 4", "(trap '' TERM HUP; exec sleep 1000) & exit 4"])
    func whatItLeavesRunningHoldsNothingUp(script: String) async throws {
        let pipe = try TestPipe()
        let end = try await Guardians.use { guardians in
            let end = try await run(shell(script, output: pipe.writeEnd), in: guardians)
            try pipe.closeWriteEnd()
            return end
        }
        #expect(end.status == .exited(4))
        #expect(try await pipe.readToEnd() == [])
    }

    /// The same for output that is kept: what came until the end is the result, whoever holds the pipe open after that. What
    /// writes for ever gives no more than the pipe holds.
    @Test(arguments: [
        "echo given; sleep 1000 & exit 0", "echo given; (trap '' TERM HUP; exec sleep 1000) & exit 0",
        "echo given; exec 2>&-; sleep 1000 & exit 0", "echo given; yes & exit 0",
    ])
    func whatHoldsKeptOutputOpenHoldsNothingUp(script: String) async throws {
        var command = shell(script)
        command.keptBytesMax = 1024 * 1024
        let end = try await Guardians.use { [command] in try await run(command, in: $0) }
        #expect(end.status == .exited(0))
        let output = try #require(end.output)
        #expect(output.isTooLong || output.bytes.starts(with: Array("given\n".utf8)))
    }

    @Test func aCancelledOneIsToldToStopAndMaySayWhy() async throws {
        let pipe = try TestPipe()
        let end = try await Guardians.use { guardians in
            let script = "trap 'echo stopping >&2; exit 7' TERM; echo ready; sleep 1000 & wait"
            // However long a busy machine lets the shell wait, it is not killed.
            var command = shell(script, output: pipe.writeEnd)
            command.clock = ManualClock()
            let running = Task { [command] in try await run(command, in: guardians) }
            #expect(try await pipe.readLine() == "ready")
            try pipe.closeWriteEnd()
            running.cancel()
            let end = try await running.value
            // Its own child is gone too, though the guardians still stand.
            #expect(try await pipe.readToEnd() == [])
            return end
        }
        #expect(end == Command.End(status: .exited(7), errorTail: "stopping"))
    }

    @Test func oneThatDoesNotStopIsKilledAfterItsTime() async throws {
        let pipe = try TestPipe()
        let clock = ManualClock()
        var command = shell("trap '' TERM; echo ready; while :; do sleep 1000; done", output: pipe.writeEnd)
        command.clock = clock
        command.stopTime = .seconds(60)
        let end = try await Guardians.use { [command] guardians in
            let running = Task { try await run(command, in: guardians) }
            #expect(try await pipe.readLine() == "ready")
            try pipe.closeWriteEnd()
            running.cancel()
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(60))
            return try await running.value
        }
        #expect(end.status == .signaled(SIGKILL))
        #expect(try await pipe.readToEnd() == [])
    }

    @Test func oneThatClosesItsErrorsStillGetsItsPayload() async throws {
        let pipe = try TestPipe()
        let end = try await Guardians.use { guardians in
            try await run(
                shell("exec 2>&-; wc -c", output: pipe.writeEnd), [UInt8](repeating: 0, count: 500_000), in: guardians)
        }
        try pipe.closeWriteEnd()
        #expect(end == Command.End(status: .exited(0), errorTail: ""))
        #expect(try await pipe.readLine() == "500000")
    }

    @Test(arguments: ["", "exec 2>&-; "])
    func oneThatTakesTooLongIsToldToStop(first: String) async throws {
        let pipe = try TestPipe()
        let clock = ManualClock()
        let script = "\(first)trap 'exit 3' TERM; echo ready; sleep 1000 & wait"
        var command = shell(script, output: pipe.writeEnd)
        command.clock = clock
        command.timeout = .seconds(10)
        let stop = StopRequest()
        let end = try await Guardians.use { [command] guardians in
            async let end = command.run(payload: [], variables: [:], in: guardians, stop: stop) { _ in }
            #expect(try await pipe.readLine() == "ready")
            try pipe.closeWriteEnd()
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(10))
            return try await end
        }
        #expect(end == Command.End(status: .exited(3), errorTail: ""))
        #expect(stop.cause == .timeout)
        #expect(try await pipe.readToEnd() == [])
    }

    @Test func oneThatIsCancelledBeforeItBeginsDoesNotBegin() async throws {
        let pipe = try TestPipe()
        try await Guardians.use { guardians in
            let running = Task { [command = shell("echo begun", output: pipe.writeEnd)] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await run(command, in: guardians)
            }
            await #expect(throws: CancellationError.self) { try await running.value }
        }
        try pipe.closeWriteEnd()
        #expect(try await pipe.readToEnd() == [])
    }

    @Test func oneGuardianServesOneCommandAfterAnother() async throws {
        try await Guardians.use { guardians in
            let first = try await guardians.withGroup { $0.id }
            #expect(try await run(shell("exit 0"), in: guardians).status == .exited(0))
            #expect(try await guardians.withGroup { $0.id } == first)
            let (one, other) = try await guardians.withGroup { one in
                try await guardians.withGroup { other in (one.id, other.id) }
            }
            #expect(one == first)
            #expect(one != other)
        }
    }

    @Test func aGuardianThatNobodyUsesIsEnded() async throws {
        let clock = ManualClock()
        let guardians = Guardians(clock: clock)
        try await guardians.use {
            let first = try await guardians.withGroup { $0 }
            // It was left in the round that ends now, and not used in the one after it.
            for _ in 1...2 {
                try await clock.waitForSleepers()
                clock.advance(by: Guardians.rest)
            }
            try await eventually { !first.isLed }
            #expect(try await guardians.withGroup { $0.id } != first.id)
            #expect(try await run(shell("exit 5"), in: guardians).status == .exited(5))
        }
    }

    @Test func aCommandIsInItsGuardiansGroup() async throws {
        let end = try await Guardians.use { guardians in
            // The shell asks whether a process group of the guardian's number can be signalled, and then kills it.
            let id = try await guardians.withGroup { $0.id }
            return try await run(shell("kill -s KILL -- -\(id); exit 0"), in: guardians)
        }
        #expect(end.status == .signaled(SIGKILL))
    }

    /// A command that is told to stop as it begins has its time to, and is not killed with its guardian.
    @Test func aNewGuardianIsNotEndedByWhatStopsACommand() async throws {
        for _ in 1...5 {
            try await Guardians.use { guardians in
                let first = try await guardians.withGroup { group in
                    group.terminate()
                    return group.id
                }
                #expect(try await run(shell("exit 5"), in: guardians).status == .exited(5))
                #expect(try await guardians.withGroup { $0.id } == first)
            }
        }
    }

    @Test func aGuardianThatIsKilledTakesItsGroupAndIsReplaced() async throws {
        let pipe = try TestPipe()
        try await Guardians.use { guardians in
            let first = try await guardians.withGroup { $0.id }
            async let end = run(shell("echo ready; exec sleep 1000", output: pipe.writeEnd), in: guardians)
            #expect(try await pipe.readLine() == "ready")
            try pipe.closeWriteEnd()
            kill(first, SIGKILL)
            #expect(try await end.status == .signaled(SIGKILL))
            #expect(try await pipe.readToEnd() == [])
            #expect(try await run(shell("exit 5"), in: guardians).status == .exited(5))
            #expect(try await guardians.withGroup { $0.id } != first)
        }
    }

    @Test func anIdleGuardianThatIsKilledIsReplaced() async throws {
        try await Guardians.use { guardians in
            let first = try await guardians.withGroup { $0 }
            kill(first.id, SIGKILL)
            // Returns when it is dead, or when the guardian's owner has seen that and waited for it already.
            var facts = siginfo_t()
            waitid(P_PID, id_t(first.id), &facts, WEXITED | WNOWAIT)
            #expect(try await run(shell("exit 5"), in: guardians).status == .exited(5))
        }
    }

    @Test func allAreKilledAtOnceWhenTheWorkerIsCancelled() async throws {
        let pipe = try TestPipe()
        let command = shell("trap '' TERM; echo ready; while :; do sleep 1000; done", output: pipe.writeEnd)
        let worker = Task {
            try await Guardians.use { guardians in
                try await withThrowingTaskGroup(of: Command.End.self) { tasks in
                    for _ in 0..<3 { tasks.addTask { try await run(command, in: guardians) } }
                    return try await tasks.reduce(into: []) { $0.append($1.status) }
                }
            }
        }
        var lines = 0
        while lines < 3 { lines += try await pipe.read(upTo: 65_536).count { $0 == 0x0A } }
        try pipe.closeWriteEnd()
        worker.cancel()
        #expect(try await worker.value == [.signaled(SIGKILL), .signaled(SIGKILL), .signaled(SIGKILL)])
        #expect(try await pipe.readToEnd() == [])
    }
}
