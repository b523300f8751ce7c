import PenstockCore
import PenstockTestKit
import Testing

/// How far one answer looks, and how readers go on from there.
enum LookRules {
    static let cases: ConformanceCase.Rules = [
        "page back from the end": pageBack,
        "say whether there are more": sayMore,
        "say how far they have looked": lookSoFar,
        "look at so many bytes of payloads only": lookAtBytes,
        "check how far they may look": checkLook,
    ]

    /// So many messages, of which every third has the header `third`, by turns in two queues.
    private static func filled(_ bench: Bench, _ count: Int) async throws -> any MessageStore {
        let store = try await bench.open(.steady(), mail: .steady())
        for number in 1...count {
            let headers = number % 3 == 0 ? ["third": "yes"] : [:]
            let message = NewMessage(payload: Array("\(number)".utf8), headers: headers)
            try await store.put(message, to: number % 2 == 1 ? .jobs : .mail)
        }
        return store
    }

    private static func numbers(_ page: MessagePage) -> [Int64] { page.map(\.sequence.rawValue) }

    static func pageBack(_ bench: Bench) async throws {
        let store = try await filled(bench, 8)
        var pages: [[Int64]] = []
        var query = MessageQuery(end: .last, limit: 3)
        while pages.count < 9 {
            let page = try await store.messages(query)
            pages.append(numbers(page))
            guard let next = page.next else { break }
            query.preceding = next
        }
        #expect(pages == [[6, 7, 8], [3, 4, 5], [1, 2]])
        #expect(numbers(try await store.messages(MessageQuery(preceding: SequenceNumber(3)))) == [1, 2])
        let both = MessageQuery(after: SequenceNumber(2), preceding: SequenceNumber(7), end: .last, limit: 2)
        #expect(numbers(try await store.messages(both)) == [5, 6])
        let chosen = MessageQuery(sequences: [2, 4, 6].map { SequenceNumber($0) }, preceding: SequenceNumber(6))
        #expect(numbers(try await store.messages(chosen)) == [2, 4])
        let ready = MessageQuery(queue: .jobs, states: [.ready], preceding: SequenceNumber(7), end: .last, limit: 2)
        #expect(numbers(try await store.messages(ready)) == [3, 5])
    }

    static func sayMore(_ bench: Bench) async throws {
        let store = try await filled(bench, 6)
        for end in [MessageQuery.End.first, .last] {
            #expect(try await store.messages(MessageQuery(end: end, limit: 6)).next == nil, "That was all.")
            #expect(try await store.messages(MessageQuery(end: end, limit: 7)).next == nil)
            #expect(try await store.messages(MessageQuery(queue: .mail, end: end, limit: 3)).next == nil)
        }
        #expect(try await store.messages(MessageQuery(limit: 5)).next == SequenceNumber(5))
        #expect(try await store.messages(MessageQuery(end: .last, limit: 5)).next == SequenceNumber(2))
        let given = MessageQuery(sequences: [5, 6, 99].map { SequenceNumber($0) }, limit: 2)
        #expect(try await store.messages(given).next == nil, "What is not there does not come.")
        #expect(try await store.messages(MessageQuery(after: SequenceNumber(6))).next == nil)
        let empty = try await store.messages(MessageQuery(states: [.done]))
        #expect(empty.isEmpty && empty.next == nil)
    }

    static func lookSoFar(_ bench: Bench) async throws {
        let store = try await filled(bench, 12)
        let third = MessageFilter(headers: ["third": "yes"])
        var pages: [[Int64]] = []
        var ends: [Int64?] = []
        var query = MessageQuery(matching: third, lookMax: 5)
        repeat {
            let page = try await store.messages(query)
            pages.append(numbers(page))
            ends.append(page.next?.rawValue)
            query.after = page.next
        } while query.after != nil && pages.count < 9
        #expect(pages == [[3], [6, 9], [12]])
        #expect(ends == [5, 10, nil])

        query = MessageQuery(queue: .jobs, matching: third, end: .last, lookMax: 2)
        let last = try await store.messages(query)
        #expect(numbers(last) == [9], "Of the queue's last two, 9 and 11.")
        #expect(last.next == SequenceNumber(9))
        query.preceding = last.next
        let before = try await store.messages(query)
        #expect(before.isEmpty, "A page may have nothing, and not be the end.")
        #expect(before.next == SequenceNumber(5))
        query.preceding = before.next
        let first = try await store.messages(query)
        #expect(numbers(first) == [3])
        #expect(first.next == nil)

        let limited = try await store.messages(MessageQuery(matching: third, limit: 1))
        #expect(limited.next == SequenceNumber(3), "It looks no further than it has to.")
    }

    static func lookAtBytes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.payloadBytesMax)
        for _ in 1...3 { try await store.put([NewMessage(payload: large)]) }
        try await store.put("needle")
        var query = MessageQuery(matching: MessageFilter(payloadContains: "needle"))
        let page = try await store.messages(query)
        #expect(page.isEmpty)
        #expect(page.next == SequenceNumber(Int64(Limits.lookBytesMax / Limits.payloadBytesMax)))
        query.after = page.next
        #expect(numbers(try await store.messages(query)) == [4])
        query = MessageQuery(matching: MessageFilter(headers: ["n": "1"]))
        #expect(try await store.messages(query).next == nil, "Where no payload is looked at none counts.")
    }

    static func checkLook(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for number in [0, -1, Limits.lookCountMax + 1] {
            await expect(.invalidInput) { try await store.messages(MessageQuery(lookMax: number)) }
            await expect(.invalidInput) { try await store.deadGroups(DeadGroupQuery(lookMax: number)) }
        }
    }
}
