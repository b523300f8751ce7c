import Penstock
import Testing

@testable import PenstockCLI

@Suite struct QueueListTests {
    private func texts(_ list: String) throws -> [String] {
        try QueueList(list).entries.map { "\($0.name)|\($0.weight.map(String.init) ?? "")" }
    }

    @Test(arguments: [
        ("mail", ["mail|"]), ("mail,sms", ["mail|", "sms|"]), ("mail:3,sms", ["mail|3", "sms|"]),
        (#"a\,b,c"#, ["a,b|", "c|"]), (#"job\:3"#, ["job:3|"]), (#"job\:3:2"#, ["job:3|2"]),
        ("a:b", ["a:b|"]), ("a:", ["a:|"]), ("a:b:1000", ["a:b|1000"]), (#"a\b\\"#, [#"a\b\|"#]),
        ("with space,été", ["with space|", "été|"]),
    ])
    func readsQueuesAndWeights(list: String, entries: [String]) throws {
        #expect(try texts(list) == entries)
    }

    @Test(arguments: [
        "", ",", "a,", ",a", "a,,b", "a,a", "a:1,a:2", "a:0", "a:1001", "a:99999999999999999999", "a, b", ":3",
    ])
    func refusesWhatCannotBe(list: String) {
        #expect(throws: (any Error).self) { try QueueList(list) }
    }
}
