import PenstockCore
import Testing

@testable import PenstockFormats

/// What is taken from a file with a workflow.
@Suite struct WorkflowFileTests {
    private static let written = [
        "1.0", "1e2", "12345678901234567890123456789012345678", "0.10000000000000000000000000001", "null", "[]", "true",
        #"{"b": 1, "a": {"payload": [2, "}],{\"\\"]}, "b": 3}"#, "{\"e\u{301}\": 1, \"\u{e9}\": 2}",
        #"{"a":"\u0041\/"}"#,
    ]

    private func payloads(_ text: String) throws -> [String] {
        try WorkflowFile(Array(text.utf8)).tasks.map { String(decoding: $0.message.payload, as: UTF8.self) }
    }

    @Test(arguments: written)
    func aPayloadIsTakenAsItIsWritten(payload: String) throws {
        let tasks = [#"{"name": "a", "payload" : \#(payload) }"#, #"{"payload":\#(payload),"name":"b"}"#]
        // Compared by bytes: two texts are the same for Swift when they only look so.
        for text in [#"{"tasks": [ "# + tasks.joined(separator: " ,\n ") + "]}", tasks.joined(separator: "\n")] {
            let taken = try payloads(text)
            #expect(taken.map { Array($0.utf8) } == [Array(payload.utf8), Array(payload.utf8)])
        }
    }

    @Test func ofSeveralMembersThatATaskHasNotTheFirstByNameIsTold() throws {
        let others = (1...9).reversed().map { #""other\#($0)": 1"# }.joined(separator: ", ")
        let error = #expect(throws: PenstockError.self) {
            try WorkflowFile(Array(#"{"tasks": [{"name": "a", \#(others)}]}"#.utf8))
        }
        #expect(try #require(error).message.contains(#"has no "other1""#))
    }

    @Test func aTextIsTakenWithoutItsQuotes() throws {
        #expect(try payloads(#"{"tasks": [{"name": "a", "payload": "x\u0041\n"}, {"name": "b"}]}"#) == ["xA\n", ""])
    }

    @Test(arguments: ["01", "[1,]", "'a'", #""\ud800""#]) func aPayloadIsJSONForEverybody(payload: String) {
        let task = #"{"name": "a", "payload": \#(payload)}"#
        for text in [#"{"tasks": [\#(task)]}"#, task, "\(task)\n\(task)"] {
            #expect(throws: PenstockError.self, "\(text)") { try WorkflowFile(Array(text.utf8)) }
        }
    }

    @Test(arguments: [
        #"{"tasks": [{"name": "a", "payload": 1, "payload": 2}]}"#, #"{"tasks": [{"name": "a", "p\u0061yload": 1}]}"#,
        #"{"tasks": [{"name": "a"}], "tasks": [{"name": "a"}, {"name": "b"}]}"#,
    ])
    func whatIsThereTwiceIsRefused(text: String) {
        #expect(throws: PenstockError.self) { try WorkflowFile(Array(text.utf8)) }
    }

    /// It is one object on several lines, and not a task on each.
    @Test func anObjectWithTooManyValuesIsToldSo() {
        let list = "[" + String(repeating: "1,", count: JSONGrammar.valueCountMax) + "1]"
        let text = "{\"tasks\":\n[{\"name\":\"a\",\"payload\":\(list)}]}"
        let error = #expect(throws: PenstockError.self) { try WorkflowFile(Array(text.utf8)) }
        #expect(error?.message.contains("more than \(JSONGrammar.valueCountMax) values") == true)
    }

    /// The line behind the last task that there is room for is no task at all, and nobody looks at it.
    @Test func tasksAreCountedAsTheyAreRead() {
        let tasks = (1...Limits.taskCountMax).map { #"{"name": "\#($0)"}"# }
        for text in [
            (tasks + ["nonsense"]).joined(separator: "\n"), #"{"tasks": [\#((tasks + ["1"]).joined(separator: ","))]}"#,
        ] {
            let error = #expect(throws: PenstockError.self) { try WorkflowFile(Array(text.utf8)) }
            #expect(error?.message.contains("taskCountMax") == true)
        }
    }

    @Test func dependenciesOfLinesAreCountedAsTheyAreRead() {
        let names = String(repeating: #""a","#, count: Limits.dependencyCountMax) + #""a""#
        let text = "{\"name\": \"a\"}\n{\"name\": \"b\", \"after\": [\(names)]}\nnonsense"
        let error = #expect(throws: PenstockError.self) { try WorkflowFile(Array(text.utf8)) }
        #expect(error?.message.contains("Line 2 is no task") == true)
        #expect(error?.message.contains("dependencyCountMax") == true)
    }

    @Test func emptyLinesCountInTheNumbersOfOthers() throws {
        #expect(try payloads("\n \r\n{\"name\": \"a\"}\n\n{\"name\": \"b\"}\n") == ["", ""])
        let error = #expect(throws: PenstockError.self) {
            try WorkflowFile(Array("\n\n{\"name\": \"a\"}\n\nnonsense\n".utf8))
        }
        #expect(error?.message.hasPrefix("Line 5") == true)
        for text in ["", "\n\n", " \r\n\t"] {
            let error = #expect(throws: PenstockError.self, "\(text.utf8.count)") { try WorkflowFile(Array(text.utf8)) }
            #expect(error?.message.contains("it is empty") == true)
        }
    }
}
