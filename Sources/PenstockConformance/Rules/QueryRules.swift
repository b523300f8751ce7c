import PenstockCore
import PenstockTestKit
import Testing

/// What a reading of the log gives.
enum QueryRules {
    static let cases: ConformanceCase.Rules = [
        "come in the order of the log, from either end": comeInOrder,
        "page by the cursor": pageByCursor,
        "are chosen by queue": byQueue,
        "are chosen by state": byState,
        "are chosen by sequence": bySequence,
        "are chosen by time of acceptance": byTime,
        "are chosen by all of it together": byAll,
        "carry payloads and attempts only when asked to": carryWhatIsAsked,
        "come in pages of so many bytes": comeInBytes,
        "check their input": checkInput,
    ]

    /// Two queues by turns, one message a second: 1, 2, 3, … 8; odd ones in `jobs`, even ones in `mail`.
    private static func filled(_ bench: Bench) async throws -> (any MessageStore, [SequenceNumber]) {
        let store = try await bench.open(.steady(), mail: .steady())
        var sequences: [SequenceNumber] = []
        for index in 1...8 {
            sequences.append(try await store.put("\(index)", to: index % 2 == 1 ? .jobs : .mail))
            bench.time.advance(by: .seconds(1))
        }
        return (store, sequences)
    }

    static func comeInOrder(_ bench: Bench) async throws {
        let (store, sequences) = try await filled(bench)
        #expect(try await store.messages(MessageQuery()).map(\.sequence) == sequences)
        #expect(try await store.texts(MessageQuery(limit: 3)) == ["1", "2", "3"])
        #expect(try await store.texts(MessageQuery(end: .last, limit: 3)) == ["6", "7", "8"])
        #expect(try await store.texts(MessageQuery(queue: .jobs, end: .last, limit: 2)) == ["5", "7"])
        #expect(try await store.messages(MessageQuery(limit: Limits.rowsMax)).count == 8)
        #expect(try await store.messages(MessageQuery(end: .last, limit: 100)).map(\.sequence) == sequences)
    }

    static func pageByCursor(_ bench: Bench) async throws {
        let (store, sequences) = try await filled(bench)
        var pages: [[String]] = []
        var cursor: SequenceNumber?
        while pages.count < 5 {
            let page = try await store.messages(MessageQuery(after: cursor, limit: 3, withPayload: true))
            if page.isEmpty { break }
            pages.append(page.compactMap(\.text))
            cursor = page.last?.sequence
        }
        #expect(pages == [["1", "2", "3"], ["4", "5", "6"], ["7", "8"]])
        #expect(try await store.texts(MessageQuery(after: sequences[5], end: .last, limit: 5)) == ["7", "8"])
        #expect(try await store.texts(MessageQuery(after: sequences[7])).isEmpty)
        try await store.put("9")
        #expect(try await store.texts(MessageQuery(after: sequences[7])) == ["9"], "So one follows the log.")
    }

    static func comeInBytes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let large = [UInt8](repeating: 7, count: Limits.logPageBytesMax / 2)
        try await store.put("small")
        for _ in 1...4 { try await store.put([NewMessage(payload: large)]) }
        try await store.put([NewMessage(payload: large + large + [7])])
        let all = try await store.messages(MessageQuery()).map(\.sequence)
        #expect(all.count == 6, "Without what they carry, nothing is short.")
        var pages: [[SequenceNumber]] = []
        var after: SequenceNumber?
        while pages.count < 9 {
            let page = try await store.messages(MessageQuery(after: after, withPayload: true)).map(\.sequence)
            if page.isEmpty { break }
            pages.append(page)
            after = page.last
        }
        #expect(pages.map(\.count) == [2, 2, 1, 1], "One that is larger than a page comes alone.")
        #expect(pages.flatMap(\.self) == all)
        let last = try await store.messages(MessageQuery(after: nil, end: .last, limit: 5, withPayload: true))
        #expect(last.map(\.sequence) == all.suffix(1), "Those nearest the end.")
        let chosen = try await store.messages(MessageQuery(sequences: Array(all[1...3]), withPayload: true))
        #expect(chosen.map(\.sequence) == Array(all[1...2]))
        #expect(
            try await store.log(LogQuery(queue: .jobs, .after(all[0]))).records.map(\.sequence) == Array(all[1...2]))
        let value = String(repeating: "v", count: Limits.headerBytesMax / 2)
        let count = Limits.logPageBytesMax / value.utf8.count + 1
        try await store.put(
            [NewMessage](repeating: NewMessage(payload: [], headers: ["a": value]), count: count))
        let some = try await store.messages(MessageQuery(after: all.last, limit: count))
        #expect(some.count == count - 2, "Headers have bytes as well.")
    }

    static func byQueue(_ bench: Bench) async throws {
        let (store, _) = try await filled(bench)
        #expect(try await store.texts(MessageQuery(queue: .jobs)) == ["1", "3", "5", "7"])
        #expect(try await store.messages(MessageQuery(queue: .mail)).allSatisfy { $0.queue == .mail })
        #expect(try await store.texts(MessageQuery(queue: .mail)) == ["2", "4", "6", "8"])
        await expect(.unknownQueue) { try await store.messages(MessageQuery(queue: QueueName(stored: "nowhere"))) }
    }

    static func byState(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(9, .dropNewest))
        try await store.put((1...5).map { .text("\($0)") })
        try await store.putBlocked("blocked", .steady(9, .dropNewest))
        try await store.beginLater("scheduled", then: "pending")
        let messages = try await store.take(4)
        _ = try await store.settle([
            Settlement(messages[0].lease, .done), Settlement(messages[1].lease, .dead(error: "bad")),
        ])
        _ = try await store.apply(.cancel, to: .sequences([messages[2].sequence]))
        try await store.configure(.jobs, .set(.steady(1, .dropNewest) { $0.groups = .limit(1) }))
        try await store.put("dropped")

        let expected: [MessageState: String] = [
            .pending: "pending", .scheduled: "scheduled", .blocked: "blocked", .ready: "5", .leased: "4", .done: "1",
            .dead: "2",
            .dropped: "dropped",
            .cancelled: "3",
        ]
        for state in MessageState.allCases {
            #expect(try await store.texts(MessageQuery(states: [state])) == [expected[state] ?? ""])
            #expect(try await store.messages(MessageQuery(states: [state])).map(\.state) == [state])
        }
        #expect(try await store.texts(MessageQuery(states: [.done, .leased])) == ["1", "4"])
        #expect(try await store.texts(MessageQuery(queue: .jobs, states: [.done, .ready])) == ["1", "5"])
        #expect(try await store.texts(MessageQuery(queue: .jobs, states: [.dead], end: .last, limit: 9)) == ["2"])
        #expect(try await store.texts(MessageQuery(states: Set(MessageState.allCases))).count == 9)
        #expect(try await store.texts(MessageQuery(states: [])).isEmpty)
    }

    static func bySequence(_ bench: Bench) async throws {
        let (store, sequences) = try await filled(bench)
        let unknown = SequenceNumber(999_999)
        let query = MessageQuery(sequences: [sequences[6], unknown, sequences[1], sequences[6]])
        #expect(try await store.texts(query) == ["2", "7"], "Those that exist, once each, in the order of the log.")
        #expect(try await store.texts(MessageQuery(sequences: [])).isEmpty)
        #expect(try await store.texts(MessageQuery(queue: .jobs, sequences: [sequences[1], sequences[2]])) == ["3"])
    }

    static func byTime(_ bench: Bench) async throws {
        let start = bench.time.now
        let (store, _) = try await filled(bench)
        #expect(try await store.texts(MessageQuery(since: start + .seconds(6))) == ["7", "8"])
        #expect(try await store.texts(MessageQuery(since: start + .seconds(6) + .microseconds(1))) == ["8"])
        #expect(try await store.texts(MessageQuery(before: start + .seconds(2))) == ["1", "2"])
        #expect(
            try await store.texts(MessageQuery(before: start + .seconds(2) + .microseconds(1))) == ["1", "2", "3"])
        let middle = MessageQuery(since: start + .seconds(2), before: start + .seconds(5))
        #expect(try await store.texts(middle) == ["3", "4", "5"])
        #expect(try await store.texts(MessageQuery(since: start + .seconds(3), limit: 2)) == ["4", "5"])
        #expect(try await store.texts(MessageQuery(since: start + .seconds(99))).isEmpty)
    }

    static func byAll(_ bench: Bench) async throws {
        let start = bench.time.now
        let (store, sequences) = try await filled(bench)
        let leased = try await store.take(3)
        #expect(try await store.give(.done, for: leased[0]) == .settled(.done))
        var query = MessageQuery(
            queue: .jobs, sequences: Array(sequences.dropLast()), states: [.leased, .ready], after: sequences[0],
            since: start + .seconds(1), before: start + .seconds(7), end: .last, limit: 2)
        #expect(try await store.texts(query) == ["5", "7"])
        query.end = .first
        #expect(try await store.texts(query) == ["3", "5"])
        query.states = [.ready]
        #expect(try await store.texts(query) == ["7"])
        query.before = start + .seconds(6)
        #expect(try await store.texts(query).isEmpty)
    }

    static func carryWhatIsAsked(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("four")
        try await store.work(.dead(error: "bad"))
        for (withPayload, withAttempts) in [(false, false), (true, false), (false, true), (true, true)] {
            let query = MessageQuery(withPayload: withPayload, withAttempts: withAttempts)
            let record = try #require(try await store.messages(query).first)
            #expect(record.payload == (withPayload ? Array("four".utf8) : nil))
            #expect(record.payloadBytes == 4)
            #expect(record.attempts.count == (withAttempts ? 1 : 0))
        }
    }

    static func checkInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for limit in [0, -1, Limits.rowsMax + 1] {
            await expect(.invalidInput) { try await store.messages(MessageQuery(limit: limit)) }
        }
    }
}
