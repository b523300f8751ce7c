import PenstockCore
import Testing

@Suite struct HeaderRulesTests {
    private func refusal(of headers: [String: String]) -> PenstockError.Code? {
        PenstockCoreTests.refusal { () throws(PenstockError) in try HeaderRules.validate(headers) }
    }

    private func headers(_ count: Int) -> [String: String] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { ("h\($0)", "") })
    }

    @Test func names() {
        for name in ["a", "Trace-ID", "x.y_z-0", String(repeating: "n", count: Limits.headerNameBytesMax)] {
            #expect(refusal(of: [name: "v"]) == nil, "\(name)")
        }
        let bad = [
            "", " ", "a b", "a=b", "ü", "a\0", "a:", String(repeating: "n", count: Limits.headerNameBytesMax + 1),
        ]
        for name in bad { #expect(refusal(of: [name: "v"]) == .invalidInput, "\(name)") }
    }

    @Test func values() {
        for value in ["", "line\nbreak", "💥", "a=b; c"] { #expect(refusal(of: ["n": value]) == nil) }
        #expect(refusal(of: ["n": "a\0b"]) == .invalidInput)
    }

    /// The order of a dictionary is by chance, and an answer is not.
    @Test func ofSeveralWrongOnesTheFirstByNameIsTold() {
        let names = (10...30).map { "h\($0)" }
        let wrong = Dictionary(uniqueKeysWithValues: names.map { ($0, "\0") })
        let error = #expect(throws: PenstockError.self) { try HeaderRules.validate(wrong) }
        #expect(error?.message == "The value of the header 'h10' holds a zero byte.")
        let twins = Dictionary(uniqueKeysWithValues: (names + names.map { $0.uppercased() }).map { ($0, "") })
        let told = #expect(throws: PenstockError.self) { try HeaderRules.validate(twins) }
        #expect(told?.message == "Two headers are called 'h10' but for case and punctuation; rename one.")
    }

    @Test func count() {
        #expect(refusal(of: headers(Limits.headerCountMax)) == nil)
        #expect(refusal(of: headers(Limits.headerCountMax + 1)) == .invalidInput)
    }

    @Test func bytes() {
        let room = Limits.headerBytesMax - 1
        #expect(refusal(of: ["n": String(repeating: "v", count: room)]) == nil)
        #expect(refusal(of: ["n": String(repeating: "v", count: room + 1)]) == .invalidInput)
        #expect(refusal(of: ["n": String(repeating: "v", count: room), "m": ""]) == .invalidInput)
    }

    @Test func eachIsAnEnvironmentVariableOfItsOwn() {
        #expect(HeaderRules.variable(of: "trace-id.x_y") == "PENSTOCK_HEADER_TRACE_ID_X_Y")
        #expect(refusal(of: ["a-b": "1", "a-c": "2"]) == nil)
        for twin in ["A-b", "a.b", "a_b", "A_B"] {
            #expect(refusal(of: ["a-b": "1", twin: "2"]) == .invalidInput, "\(twin)")
        }
    }
}
