import PenstockCore
import PenstockTestKit
import Testing

/// What it is to be appended to a log, and to be read from it.
enum LogRules {
    static let cases = [
        ConformanceCase("append", "ends messages as they are accepted", endsMessages),
        ConformanceCase("append", "rises with the log, whatever is full", risesWithTheLog),
        ConformanceCase("append", "keeps as many as retention says, at once", keepsTheCount),
        ConformanceCase("append", "does nothing once the log has ended", stopsAtItsEnd),
        ConformanceCase("append", "checks its input", checksAppended),
        ConformanceCase("append", "rings for this process and for others", rings),
        ConformanceCase("log", "is read from a place on, page by page", readFromAPlace),
        ConformanceCase("log", "is read from the last few on", readTheLast),
        ConformanceCase("log", "gives pages of bounded size", boundedPages),
        ConformanceCase("log", "tells how many were forgotten", tellsWhatIsMissing),
        ConformanceCase("log", "holds what was enqueued, too", holdsEverything),
        ConformanceCase("log", "checks its input", checksQuery),
    ]

    private static func texts(_ page: LogPage) -> [String] {
        page.records.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    static func endsMessages(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let message = NewMessage(payload: Array("it".utf8), headers: ["a": "b"], priority: 3, origin: .init(9))
        let receipts = try await store.append(
            [message, .text("other")], to: .jobs, unless: nil, durability: .processCrash)
        #expect(receipts.map(\.state) == [.done, .done])
        #expect(receipts.map(\.durability) == [.processCrash, .processCrash])
        let record = try await store.record(receipts[0].sequence)
        #expect(record.state == .done)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.headers == ["a": "b"])
        #expect(record.priority == 3)
        #expect(record.origin == SequenceNumber(9))
        #expect(try await store.take(9).isEmpty, "Nobody claims it.")
        #expect(try await store.depths() == .of(kept: 2))
        #expect(try await store.totals() == .of(enqueued: 2, done: 2))
        #expect(try await store.append([], to: .jobs, unless: nil, durability: .powerLoss) == [])
    }

    static func risesWithTheLog(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(1))
        try await store.put("fills the queue")
        let receipts = try await store.add("1", "2")
        let later = try await store.add("3")
        let sequences = (receipts + later).map(\.sequence)
        #expect(sequences == sequences.sorted() && Set(sequences).count == 3)
        #expect(try await store.depths() == .of(ready: 1, kept: 3))
    }

    static func keepsTheCount(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.retention = Retention(age: nil, count: 3) })
        try await store.add("1", "2")
        #expect(try await texts(store.page(.last(99))) == ["1", "2"])
        try await store.add("3", "4", "5")
        #expect(try await texts(store.page(.last(99))) == ["3", "4", "5"])
        try await store.add("6", "7", "8", "9", "10")
        #expect(try await texts(store.page(.last(99))) == ["8", "9", "10"])
        #expect(try await store.depths() == .of(kept: 3))
        #expect(try await store.totals().enqueued == 10)
    }

    static func stopsAtItsEnd(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let end = CursorName(stored: "end")
        _ = try await store.append([.text("1")], to: .jobs, unless: end, durability: .processCrash)
        try await store.moveCursor(end, of: .jobs, .place(after: nil))
        await expect(.illegalTransition) {
            try await store.append([.text("2")], to: .jobs, unless: end, durability: .processCrash)
        }
        #expect(try await texts(store.page(.last(9))) == ["1"])
        try await store.add("3")
        #expect(try await texts(store.page(.last(9))) == ["1", "3"], "Who does not ask for it is not kept from it.")
    }

    static func checksAppended(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let wrong: [NewMessage] = [
            .text("x", due: .after(.seconds(1))), .text("x", key: "k"), .text("x", priority: 101),
        ]
        for message in wrong {
            await expect(.invalidInput) {
                try await store.append([.text("1"), message], to: .jobs, unless: nil, durability: .processCrash)
            }
        }
        await expect(.unknownQueue) {
            try await store.append(
                [.text("1")], to: QueueName(stored: "nowhere"), unless: nil, durability: .processCrash)
        }
        #expect(try await store.depths() == .of())
    }

    static func rings(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        for listener in [store, other] {
            let token = listener.changes.token(for: .jobs)
            try await store.add("it")
            try await listener.changes.wait(for: .jobs, after: token)
        }
    }

    static func readFromAPlace(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        var sequences: [SequenceNumber] = []
        for number in 1...5 {
            sequences += try await store.add("\(number)").map(\.sequence)
            _ = try await store.append([.text("other")], to: .mail, unless: nil, durability: .processCrash)
        }
        var page = try await store.page(.after(SequenceNumber(0)), limit: 2)
        #expect(texts(page) == ["1", "2"])
        #expect(!page.isAtEnd)
        #expect(page.count == nil)
        #expect(page.records.map(\.sequence) == Array(sequences.prefix(2)))
        #expect(page.records.allSatisfy { $0.enqueuedAt == bench.time.now })
        page = try await store.page(.after(sequences[2]), limit: 2)
        #expect(texts(page) == ["4", "5"])
        #expect(page.isAtEnd)
        #expect(page.count == 2)
        #expect(page.accepted == 5)
        #expect(page.end == SequenceNumber(sequences[4].rawValue + 1), "The other queue's message came last.")
        page = try await store.page(.after(page.end))
        #expect(page.records.isEmpty && page.isAtEnd)
    }

    static func readTheLast(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        var page = try await store.page(.last(3))
        #expect(page == LogPage(records: [], count: 0, isAtEnd: true, end: page.end, accepted: 0, cursor: nil))
        try await store.add("1", "2", "3", "4")
        page = try await store.page(.last(3))
        #expect(texts(page) == ["2", "3", "4"])
        #expect(page.count == 3 && page.isAtEnd)
        page = try await store.page(.last(3), limit: 2)
        #expect(texts(page) == ["2", "3"])
        #expect(page.count == 3 && !page.isAtEnd)
        page = try await store.page(.last(99))
        #expect(page.count == 4)
        page = try await store.page(.last(0))
        #expect(page.records.isEmpty && page.isAtEnd && page.count == 0 && page.accepted == 4)
        let place = page.end
        try await store.add("5")
        #expect(try await texts(store.page(.after(place))) == ["5"])
        // Back from a message, which need not be there.
        page = try await store.page(.preceding(place, 2))
        #expect(texts(page) == ["2", "3"] && page.count == 2 && page.isAtEnd)
        page = try await store.page(.preceding(place, 3), limit: 2)
        #expect(texts(page) == ["1", "2"] && page.count == 3 && !page.isAtEnd)
        #expect(try await texts(store.page(.preceding(SequenceNumber(.max), 2))) == ["4", "5"])
        for sequence in [0, 1, -1] {
            page = try await store.page(.preceding(SequenceNumber(Int64(sequence)), 9))
            #expect(page.records.isEmpty && page.count == 0 && page.isAtEnd && page.accepted == 5)
        }
        for count in [-1, Limits.rowsMax + 1] {
            await expect(.invalidInput) { try await store.page(.preceding(place, count)) }
        }
    }

    static func boundedPages(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.logPageBytesMax / 2))
        _ = try await store.append([large, large, large, large], to: .jobs, unless: nil, durability: .processCrash)
        let page = try await store.page(.last(4))
        #expect(page.records.count == 2)
        #expect(!page.isAtEnd && page.count == 4)
        let huge = NewMessage(payload: [UInt8](repeating: 7, count: Limits.logPageBytesMax + 1))
        _ = try await store.append([huge], to: .jobs, unless: nil, durability: .processCrash)
        #expect(try await store.page(.last(1)).records.count == 1, "One comes, however large.")
        let value = String(repeating: "v", count: Limits.headerBytesMax / 2)
        let headed = NewMessage(payload: [], headers: ["a": value])
        let count = Limits.logPageBytesMax / value.utf8.count + 1
        _ = try await store.append(
            [NewMessage](repeating: headed, count: count), to: .jobs, unless: nil, durability: .processCrash)
        let headers = try await store.page(.last(count))
        #expect(headers.records.count == count - 2 && !headers.isAtEnd, "Headers have bytes as well.")
    }

    static func tellsWhatIsMissing(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.add("1", "2", "3", "4", "5", "6")
        let place = first[1].sequence
        _ = try await store.prune(PruneRequest(queue: .jobs, retention: Retention(age: nil, count: 1)))
        let page = try await store.page(.after(place))
        #expect(texts(page) == ["6"])
        // Two had been read, one was there, and six were accepted.
        #expect(page.accepted - 2 - page.records.count == 3)
    }

    static func holdsEverything(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropNewest))
        try await store.put("ready")
        try await store.add("done")
        try await store.put(.text("later", due: .after(.seconds(60))))
        try await store.put("dropped")
        #expect(try await texts(store.page(.last(9))) == ["ready", "done", "later", "dropped"])
        #expect(try await store.page(.last(0)).accepted == 4)
    }

    static func checksQuery(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for limit in [0, -1, Limits.rowsMax + 1] {
            await expect(.invalidInput) { try await store.page(.last(1), limit: limit) }
        }
        for count in [-1, Limits.rowsMax + 1] { await expect(.invalidInput) { try await store.page(.last(count)) } }
        await expect(.unknownQueue) { try await store.log(LogQuery(queue: QueueName(stored: "nowhere"), .last(1))) }
    }
}

extension MessageStore {
    @discardableResult
    func add(_ texts: String...) async throws -> [Receipt] {
        try await append(texts.map { .text($0) }, to: .jobs, unless: nil, durability: .processCrash)
    }

    /// A page of the log of `jobs`.
    func page(_ start: LogQuery.Start, limit: Int = 1000, cursor: CursorName? = nil) async throws -> LogPage {
        try await log(LogQuery(queue: .jobs, start, limit: limit, cursor: cursor))
    }
}
