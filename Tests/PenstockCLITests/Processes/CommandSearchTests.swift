import Testing

@testable import PenstockCLI

@Suite struct CommandSearchTests {
    @Test func findsAProgramOfThePath() async throws {
        let command = try await Command.find(["sh", "-c", "exit 0"])
        #expect(command.path.isAbsolute)
        #expect(command.name == "sh")
        #expect(command.arguments == ["-c", "exit 0"])
    }

    @Test func takesAPathAsItIs() async throws {
        #expect(try await Command.find(["/bin/sh"]).path == "/bin/sh")
    }

    @Test(arguments: [
        ([], ShellStatus.usage), ([""], .usage), (["no-such-command-anywhere"], .commandNotFound),
        (["/no/such/command"], .commandNotFound), (["/"], .cannotRun), (["/etc/passwd"], .cannotRun),
    ])
    func saysWhatIsWrong(words: [String], status: ShellStatus) async {
        let failure = await #expect(throws: Failure.self) { try await Command.find(words) }
        #expect(failure?.status == status)
    }
}
