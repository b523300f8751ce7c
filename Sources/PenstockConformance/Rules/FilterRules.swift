import PenstockCore
import PenstockTestKit
import Testing

/// What messages are chosen by beside queue, state and time.
enum FilterRules {
    static let cases: ConformanceCase.Rules = [
        "are chosen by unique key, held or not": byKey,
        "are chosen by headers": byHeader,
        "are chosen by a part of the payload": byPayload,
        "are chosen by a part of the last error": byError,
        "are chosen by the signature of their failure": bySignature,
        "are chosen by all of a filter": byAllOfIt,
        "check their filter": checkFilter,
    ]

    private static func texts(
        _ store: any MessageStore, _ filter: MessageFilter, queue: QueueName? = nil, states: Set<MessageState>? = nil,
        end: MessageQuery.End = .first, limit: Int = 1000
    ) async throws -> [String] {
        try await store.texts(MessageQuery(queue: queue, matching: filter, states: states, end: end, limit: limit))
    }

    static func byKey(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.put(.text("1", key: "a"))
        try await store.work(.done)
        try await store.put(.text("2", key: "a"))
        try await store.put(.text("3", key: "b"))
        try await store.put("4")
        try await store.put(.text("5", key: "a"), to: .mail)
        try await store.put(.text("6", key: "\u{E9}"))
        let filter = MessageFilter(uniqueKey: "a")
        #expect(try await texts(store, filter) == ["1", "2", "5"], "Held or not, in whichever queue.")
        #expect(try await texts(store, filter, end: .last, limit: 2) == ["2", "5"])
        #expect(try await texts(store, filter, queue: .jobs) == ["1", "2"])
        #expect(try await texts(store, filter, queue: .jobs, states: [.ready]) == ["2"])
        #expect(try await texts(store, MessageFilter(uniqueKey: "c")) == [])
        #expect(try await texts(store, MessageFilter(uniqueKey: "e\u{301}")) == [], "Keys are compared byte by byte.")
        #expect(try await texts(store, MessageFilter(uniqueKey: "\u{E9}")) == ["6"])
        let page = try await store.messages(MessageQuery(matching: filter, limit: 2))
        #expect(page.next == page.last?.sequence)
        let rest = try await store.messages(
            MessageQuery(matching: filter, after: page.next, limit: 2, withPayload: true))
        #expect(rest.compactMap(\.text) == ["5"])
        #expect(rest.next == nil)
    }

    static func byHeader(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let headers: [[String: String]] = [
            ["tenant": "ada"], ["tenant": "bob", "trace": "7"], ["tenant": "ada", "trace": "7"], [:],
            ["tenant": "ad\u{E9}"], [KindName.header: "invoice"], ["tenant": "a\"\\\n\u{1}"], ["Tenant": "ada"],
        ]
        try await store.put(
            headers.enumerated().map { NewMessage(payload: Array("\($0 + 1)".utf8), headers: $1) })
        func found(_ headers: [String: String]) async throws -> [String] {
            try await texts(store, MessageFilter(headers: headers))
        }
        #expect(try await found(["tenant": "ada"]) == ["1", "3"], "The whole name and the whole value.")
        #expect(try await found(["tenant": "ad"]) == [])
        #expect(try await found(["trace": "7"]) == ["2", "3"])
        #expect(try await found(["tenant": "ada", "trace": "7"]) == ["3"])
        #expect(try await found(["tenant": "ade\u{301}"]) == [], "Byte by byte.")
        #expect(try await found(["tenant": "ad\u{E9}"]) == ["5"])
        #expect(try await found([KindName.header: "invoice"]) == ["6"], "So a kind is found.")
        #expect(try await found(["tenant": "a\"\\\n\u{1}"]) == ["7"])
        #expect(try await found([:]).count == headers.count)
        let last = try await texts(store, MessageFilter(headers: ["tenant": "ada"]), end: .last, limit: 1)
        #expect(last == ["3"])
    }

    static func byPayload(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put(["Hello, Ada", "hello, bob", "", "caf\u{E9}", "100%_of"].map { .text($0) })
        try await store.put([NewMessage(payload: [0, 255, 65, 100, 97, 0])])
        func found(_ text: String) async throws -> [Int64] {
            try await store.messages(MessageQuery(matching: MessageFilter(payloadContains: text))).map(
                \.sequence.rawValue)
        }
        #expect(try await found("Ada") == [1, 6], "Payloads are bytes, and need not be text.")
        #expect(try await found("hello") == [2], "Capital letters count.")
        #expect(try await found("caf\u{E9}") == [4])
        #expect(try await found("e\u{301}") == [], "Byte by byte.")
        #expect(try await found("%_") == [5], "No letter stands for another.")
        #expect(try await found("d") == [1, 6])
        #expect(try await found("Hello, Ada") == [1])
        #expect(try await found("Hello, Ada!") == [])
        #expect(try await found("\u{0}") == [6])
    }

    static func byError(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("1")
        try await store.work(.retry(error: "timed out", after: .zero))
        try await store.work(.dead(error: "no such\nuser \u{0} 42"))
        try await store.put("2")
        try await store.work(.dead(error: "timed out"))
        try await store.put("3")
        try await store.work(.retry(error: "timed out", after: .seconds(60)))
        try await store.put("4")
        func found(_ text: String, states: Set<MessageState>? = nil) async throws -> [String] {
            try await texts(store, MessageFilter(errorContains: text), states: states)
        }
        #expect(try await found("timed") == ["2", "3"], "Only the last attempt's error counts.")
        #expect(try await found("timed", states: [.dead]) == ["2"])
        #expect(try await found("user \u{0} 4") == ["1"], "Every line of it.")
        #expect(try await found("Timed") == [])
    }

    static func bySignature(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1))
        for error in ["user 7 is gone\nat line 3", "user 12 is gone", "user is gone", "user 7 is gone, too"] {
            try await store.put("\(error)")
            try await store.work(.dead(error: error))
        }
        try await store.put("exhausted")
        try await store.work(.retry(error: "user 1 is gone"))
        let signature = ErrorSignature(.rejected, "user 99 is gone")
        #expect(
            try await texts(store, MessageFilter(signature: signature)) == [
                "user 7 is gone\nat line 3", "user 12 is gone",
            ])
        let exhausted = MessageFilter(signature: ErrorSignature(.attemptsExhausted, "user # is gone"))
        #expect(try await texts(store, exhausted) == ["exhausted"])
        let dead = try await store.messages(MessageQuery(states: [.dead], withAttempts: true))
        #expect(dead.first?.errorSignature == signature)
    }

    static func byAllOfIt(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for (text, headers, key) in [("ab", ["n": "1"], "k"), ("ab", ["n": "2"], "l"), ("b", ["n": "1"], "m")] {
            let message = NewMessage(payload: Array(text.utf8), headers: headers, uniqueKey: UniqueKey(key))
            try await store.put(message)
            try await store.work(.dead(error: "bad \(key)"))
        }
        func found(_ filter: MessageFilter) async throws -> [Int64] {
            try await store.messages(MessageQuery(queue: .jobs, matching: filter)).map(\.sequence.rawValue)
        }
        var filter = MessageFilter(headers: ["n": "1"], payloadContains: "a", errorContains: "bad")
        #expect(try await found(filter) == [1])
        filter.uniqueKey = "k"
        #expect(try await found(filter) == [1])
        filter.uniqueKey = "l"
        #expect(try await found(filter) == [])
        filter.headers = [:]
        #expect(try await found(filter) == [2])
        let query = MessageQuery(sequences: [1, 3].map { SequenceNumber($0) }, matching: MessageFilter(uniqueKey: "m"))
        #expect(try await store.messages(query).map(\.sequence.rawValue) == [3])
    }

    static func checkFilter(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let long = String(repeating: "x", count: Limits.filterTextBytesMax + 1)
        let filters = [
            MessageFilter(payloadContains: ""), MessageFilter(payloadContains: long), MessageFilter(errorContains: ""),
            MessageFilter(errorContains: long), MessageFilter(uniqueKey: ""),
            MessageFilter(uniqueKey: String(repeating: "k", count: Limits.uniqueKeyBytesMax + 1)),
            MessageFilter(headers: ["no name": "x"]),
        ]
        for filter in filters {
            await expect(.invalidInput) { try await store.messages(MessageQuery(matching: filter)) }
            let selection = Selection.queue(.jobs, states: [.ready], matching: filter)
            await expect(.invalidInput) { try await store.apply(.cancel, to: selection) }
            await expect(.invalidInput) { try await store.count(selection, for: .cancel) }
        }
    }
}
