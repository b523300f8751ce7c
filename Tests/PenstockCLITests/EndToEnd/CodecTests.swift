import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct CodecTests {
    /// The command is no codec: it hands the bytes to somebody who knows one, and says which. What follows went through none.
    @Test func aCommandGetsTheBytesAsTheyAreAndTheHeader() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "next"])
        try await tool.succeed(["enqueue", "q", "uryyb", "--header", "penstock-codec=rot13:x"])
        let script = "echo \"$(cat) ${PENSTOCK_HEADER_PENSTOCK_CODEC-none}\""
        try await tool.succeed(["work", "q", "--into", "next", "--drain", "--", "sh", "-c", script])
        let worked = try await tool.succeed(["work", "next", "--drain", "--", "sh", "-c", script])
        #expect(worked.lines == ["uryyb rot13:x none"])
        #expect(try await tool.payloads("done").count == 1)
    }
}
