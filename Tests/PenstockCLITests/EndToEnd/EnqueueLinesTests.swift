import Testing

@Suite(.timeLimit(.minutes(5)))
struct EnqueueLinesTests {
    @Test func everyLineIsAMessage() async throws {
        let tool = try await Tool.withQueue()
        let outcome = try await tool.succeed(["enqueue", "q", "--lines"], input: Array("one\n\ntwo\r\nlast".utf8))
        #expect(outcome.output == "4 messages enqueued (1 to 4).\n")
        #expect(try await tool.payloads("ready") == ["one", "", "two\r", "last"])
    }

    @Test func emptyLinesMayBeLeftOut() async throws {
        let tool = try await Tool.withQueue()
        let file = try tool.file("lines", "\none\n\n\ntwo\n\n".utf8)
        let outcome = try await tool.succeed(["enqueue", "q", "--lines", "--skip-empty", "--file", file, "--json"])
        #expect(
            outcome.output
                == #"{"queue":"q","lines":2,"enqueued":2,"dropped":0,"displaced":0,"first":1,"last":2}"# + "\n")
        #expect(try await tool.payloads("ready") == ["one", "two"])
    }

    @Test func noLinesAreNoMessages() async throws {
        let tool = try await Tool.withQueue()
        let outcome = try await tool.succeed(["enqueue", "q", "--lines"], input: [])
        #expect(outcome.output == "0 messages enqueued.\n")
    }

    @Test func bytesThatAreNotUTF8PassUnharmed() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: [0xFF, 0xFE, 0x0A, 0x00, 0xC3, 0x0A])
        #expect(try await tool.succeed(["show", "1", "--payload"]).bytes == [0xFF, 0xFE])
        #expect(try await tool.succeed(["show", "2", "--payload"]).bytes == [0x00, 0xC3])
        #expect(try await tool.succeed(["list"]).output.contains(#"\xFF\xFE"#))
    }

    @Test func manyLinesKeepTheirOrder() async throws {
        let tool = try await Tool.withQueue()
        let lines = (1...9999).map { "line \($0)" }
        let input = Array((lines.joined(separator: "\n") + "\n").utf8)
        let outcome = try await tool.succeed(["enqueue", "q", "--lines", "--priority", "3"], input: input)
        #expect(outcome.output == "9999 messages enqueued (1 to 9999).\n")
        #expect(try await tool.payloads("ready") == lines)
    }

    /// One more than the limit, and one that is just as long as it may be.
    @Test func aLineBeyondTheLimitIsNamedAndThoseBeforeStay() async throws {
        let tool = try await Tool.withQueue()
        let longest = [UInt8](repeating: 0x78, count: 16 * 1024 * 1024)
        let input = Array("one\n".utf8) + longest + Array("\n".utf8) + longest + Array("x\nafter\n".utf8)
        try await tool.fail(
            ["enqueue", "q", "--lines"], input: input, with: 64,
            saying: "Line 3 has more than 16777216 bytes (payloadBytesMax)")
        let kept = try await tool.succeed(["log", "q", "--json"]).objects().map { $0["payloadBytes"].number }
        #expect(kept == [3, 16_777_216])
    }

    /// Lines that find room are taken, as if they had come one by one; the first that does not is named.
    @Test(arguments: [1, 3, 7, 5500])
    func aFullQueueThatFailsTakesWhatFits(capacity: Int) async throws {
        let tool = try await Tool.withQueue("--capacity", "\(capacity)", "--when-full", "fail")
        let lines = (1...9000).map(String.init)
        let outcome = try await tool.fail(
            ["enqueue", "q", "--lines"], input: Array(lines.joined(separator: "\n").utf8), with: 69,
            saying: "At line \(capacity + 1): ")
        #expect(outcome.errors.contains(capacity == 1 ? "The 1 line before it" : "The \(capacity) lines before it"))
        #expect(try await tool.payloads("ready") == Array(lines[..<capacity]))
    }

    @Test func dropsAreCounted() async throws {
        let tool = try await Tool.withQueue("--capacity", "3", "--when-full", "drop-newest")
        let input = Array("1\n2\n3\n4\n5\n".utf8)
        #expect(
            try await tool.succeed(["enqueue", "q", "--lines"], input: input).output
                == "3 messages enqueued (1 to 5), 2 dropped.\n")
        try await tool.succeed(["queue", "set", "q", "--when-full", "drop-oldest"])
        #expect(
            try await tool.succeed(["enqueue", "q", "--lines"], input: input).output
                == "5 messages enqueued (6 to 10), 5 older ones dropped.\n")
        #expect(try await tool.payloads("ready") == ["3", "4", "5"])
    }
}
