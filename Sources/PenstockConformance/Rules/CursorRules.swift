import PenstockCore
import PenstockTestKit
import Testing

/// Named places in a log.
enum CursorRules {
    static let cases: ConformanceCase.Rules = [
        "is placed once": placedOnce,
        "only moves forward": movesForward,
        "counts what a reader gives up, once": countsWhatAReaderGivesUp,
        "is removed": removed,
        "counts what is forgotten ahead of it": countsTheForgotten,
        "belongs to one queue, and goes with it": belongsToItsQueue,
        "is seen by other processes, and outlives its own": outlivesItsProcess,
        "rings when it is placed or removed, and not when it moves": rings,
        "checks its input": checksInput,
        "tells what was said at it where its queue is asked for": tellsNotes,
        "has room for settings beside readers, however many": roomForSettings,
    ]

    private static let mailer = CursorName(stored: "mailer")
    private static let printer = CursorName(stored: "printer")

    private static func cursors(_ store: any MessageStore) async throws -> [String] {
        try await store.status(of: .jobs).cursors.map { "\($0.name) \($0.sequence) \($0.missed)" }
    }

    static func placedOnce(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let receipts = try await store.add("1", "2")
        let now = bench.time.now
        let placed = try await store.moveCursor(mailer, of: .jobs, .place(after: nil, note: "from here"))
        let expected = CursorRecord(
            queue: .jobs, name: mailer, sequence: receipts[1].sequence, note: "from here", movedAt: now)
        #expect(placed == expected)
        try await store.add("3")
        bench.time.advance(by: .seconds(1))
        #expect(try await store.moveCursor(mailer, of: .jobs, .place(after: nil, note: "no")) == expected)
        #expect(try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0))) == expected)
        #expect(try await store.page(.last(0), cursor: mailer).cursor == expected)
        #expect(try await store.page(.last(0), cursor: printer).cursor == nil)
        #expect(
            try await store.moveCursor(printer, of: .jobs, .place(after: SequenceNumber(0)))?.sequence.rawValue == 0)
    }

    static func movesForward(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequences = try await store.add("1", "2", "3").map(\.sequence)
        try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0)))
        #expect(try await store.moveCursor(mailer, of: .jobs, .advance(to: sequences[1]))?.sequence == sequences[1])
        bench.time.advance(by: .seconds(1))
        let back = try await store.moveCursor(mailer, of: .jobs, .advance(to: sequences[0]))
        #expect(back?.sequence == sequences[1])
        #expect(back?.movedAt == bench.time.now - .seconds(1), "It did not move.")
    }

    static func countsWhatAReaderGivesUp(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let sequences = try await store.add("1", "2", "3").map(\.sequence)
        try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0)))
        let gaveUp = try await store.moveCursor(mailer, of: .jobs, .advance(to: sequences[0], missed: 1))
        #expect(gaveUp?.missed == 1 && gaveUp?.sequence == sequences[0])
        // Another reader has had these by then.
        try await other.moveCursor(mailer, of: .jobs, .advance(to: sequences[1]))
        bench.time.advance(by: .seconds(1))
        for sequence in sequences[0...1] {
            let late = try await store.moveCursor(mailer, of: .jobs, .advance(to: sequence, missed: 2))
            #expect(late?.missed == 1 && late?.sequence == sequences[1])
            #expect(late?.movedAt == bench.time.now - .seconds(1), "It did not move.")
        }
        try await store.moveCursor(mailer, of: .jobs, .advance(to: sequences[2], missed: 1))
        #expect(try await cursors(store) == ["mailer \(sequences[2]) 2"])
    }

    static func removed(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let placed = try await store.moveCursor(mailer, of: .jobs, .place(after: nil))
        #expect(try await store.moveCursor(mailer, of: .jobs, .remove) == placed)
        #expect(try await store.moveCursor(mailer, of: .jobs, .remove) == nil)
        #expect(try await cursors(store) == [])
        await expect(.unknownCursor) {
            try await store.moveCursor(mailer, of: .jobs, .advance(to: SequenceNumber(0)))
        }
    }

    static func countsTheForgotten(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.retention = Retention(age: nil, count: 4) })
        let sequences = try await store.add("1", "2", "3", "4").map(\.sequence)
        try await store.moveCursor(mailer, of: .jobs, .place(after: sequences[1]))
        try await store.moveCursor(printer, of: .jobs, .place(after: SequenceNumber(0)))
        // Nobody reads the log by a cursor that holds settings, so it misses nothing; "amazon-sqs" is the name of another reader.
        for name in [CursorName.settingsPrefix + "1", "amazon-sqs"] {
            try await store.moveCursor(CursorName(stored: name), of: .jobs, .place(after: SequenceNumber(0)))
        }
        _ = try await store.prune(PruneRequest(queue: .jobs, retention: Retention(age: nil, count: 1)))
        #expect(
            try await cursors(store) == [
                "amazon-sqs 0 3", "amazon-sqs.1 0 0", "mailer \(sequences[1]) 1", "printer 0 3",
            ])
        try await store.moveCursor(CursorName(stored: "amazon-sqs"), of: .jobs, .remove)
        // As an append makes room, it counts as well.
        let more = try await store.add("5", "6", "7", "8")
        #expect(try await cursors(store) == ["amazon-sqs.1 0 0", "mailer \(sequences[1]) 2", "printer 0 4"])
        try await store.moveCursor(mailer, of: .jobs, .advance(to: more[3].sequence))
        try await store.moveCursor(printer, of: .jobs, .advance(to: more[1].sequence))
        _ = try await store.prune(PruneRequest(retention: Retention(age: nil, count: 0)))
        #expect(
            try await cursors(store) == [
                "amazon-sqs.1 0 0", "mailer \(more[3].sequence) 2", "printer \(more[1].sequence) 6",
            ])
    }

    static func belongsToItsQueue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        try await store.add("1", "2")
        try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0)))
        try await store.moveCursor(mailer, of: .mail, .place(after: nil))
        #expect(try await store.status(of: nil).cursors.map(\.queue) == [.jobs, .mail])
        #expect(try await store.status(of: .mail).cursors.map(\.sequence.rawValue) == [2])
        _ = try await store.prune(PruneRequest(retention: Retention(age: nil, count: 0)))
        #expect(try await store.status(of: nil).cursors.map(\.missed) == [2, 0])
        try await store.configure(.jobs, .delete(force: false))
        #expect(try await store.status(of: nil).cursors.map(\.queue) == [.mail])
        try await store.configure(.jobs, .create(.steady(), ifAbsent: false))
        #expect(try await cursors(store) == [])
    }

    static func outlivesItsProcess(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let sequences = try await store.add("1", "2").map(\.sequence)
        try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0)))
        try await other.moveCursor(mailer, of: .jobs, .advance(to: sequences[0]))
        #expect(try await cursors(store) == ["mailer \(sequences[0]) 0"])
        try await bench.crash(other)
        try await store.moveCursor(mailer, of: .jobs, .advance(to: sequences[1]))
        try await bench.crash(store)
        let third = try await bench.open()
        #expect(try await cursors(third) == ["mailer \(sequences[1]) 0"])
    }

    static func rings(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        let moves: [CursorMove] = [.place(after: nil), .remove]
        for listener in [store, other] {
            for move in moves {
                let token = listener.changes.token(for: .jobs)
                try await store.moveCursor(mailer, of: .jobs, move)
                try await listener.changes.wait(for: .jobs, after: token)
            }
        }
        // A store may also ring for what it finds when it looks, whoever wrote it. A move that rings would ring every time.
        let sequences = try await store.add("1", "2", "3", "4", "5", "6", "7", "8").map(\.sequence)
        try await store.moveCursor(mailer, of: .jobs, .place(after: SequenceNumber(0)))
        var quietMoves = 0
        for sequence in sequences {
            let token = store.changes.token(for: .jobs)
            try await store.moveCursor(mailer, of: .jobs, .advance(to: sequence))
            if store.changes.token(for: .jobs) == token { quietMoves += 1 }
        }
        #expect(quietMoves > 0)
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let last = try await store.add("1").map(\.sequence)[0]
        let wrong: [CursorMove] = [
            .place(after: SequenceNumber(-1)), .place(after: SequenceNumber(last.rawValue + 1)),
            .place(after: nil, note: String(repeating: "x", count: Limits.cursorNoteBytesMax + 1)),
            .place(after: nil, note: "a\0b"),
        ]
        for move in wrong { await expect(.invalidInput) { try await store.moveCursor(mailer, of: .jobs, move) } }
        try await store.moveCursor(mailer, of: .jobs, .place(after: nil))
        let wrongAdvances: [CursorMove] = [
            .advance(to: SequenceNumber(-1)), .advance(to: SequenceNumber(last.rawValue + 1)),
            .advance(to: last, missed: -1),
        ]
        for move in wrongAdvances {
            await expect(.invalidInput) { try await store.moveCursor(mailer, of: .jobs, move) }
        }
        for move in [CursorMove.place(after: nil), .advance(to: last), .remove] {
            await expect(.unknownQueue) {
                try await store.moveCursor(mailer, of: QueueName(stored: "nowhere"), move)
            }
        }
        for number in 2...Limits.cursorCountMax {
            try await store.moveCursor(CursorName(stored: "\(number)"), of: .jobs, .place(after: nil))
        }
        await expect(.invalidInput) { try await store.moveCursor(printer, of: .jobs, .place(after: nil)) }
        for text in ["", " a", "a\n", String(repeating: "x", count: 201)] {
            #expect(throws: PenstockError.self) { try CursorName(text) }
        }
    }

    static func tellsNotes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let settings = CursorName(stored: CursorName.settingsPrefix + "1")
        try await store.moveCursor(settings, of: .jobs, .place(after: nil, note: "{}"))
        try await store.moveCursor(mailer, of: .jobs, .place(after: nil, note: "from here"))
        #expect(try await store.status(of: .jobs).cursors.map(\.note) == ["{}", "from here"])
        #expect(try await store.status(of: nil).cursors.map(\.note) == ["{}", nil])
    }

    static func roomForSettings(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let note = String(repeating: "x", count: Limits.cursorNoteBytesMax)
        let full = Limits.cursorNotesBytesMax / Limits.cursorNoteBytesMax
        for number in 1...full {
            try await store.moveCursor(CursorName(stored: "\(number)"), of: .jobs, .place(after: nil, note: note))
        }
        await expect(.invalidInput) { try await store.moveCursor(printer, of: .jobs, .place(after: nil, note: "x")) }
        // How a log has ended is written down all the same.
        try await store.moveCursor(.completion, of: .jobs, .place(after: nil, note: "x"))
        try await store.moveCursor(.completion, of: .jobs, .remove)
        // One that is there stays, and one without a note takes no room.
        try await store.moveCursor(CursorName(stored: "1"), of: .jobs, .place(after: nil, note: note))
        for number in full + 1...Limits.cursorCountMax {
            try await store.moveCursor(CursorName(stored: "\(number)"), of: .jobs, .place(after: nil))
        }
        await expect(.invalidInput) { try await store.moveCursor(printer, of: .jobs, .place(after: nil)) }
        try await store.moveCursor(.completion, of: .jobs, .place(after: nil, note: "x"))
        try await store.moveCursor(.completion, of: .jobs, .remove)
        let settings = CursorName(stored: CursorName.settingsPrefix + "1")
        #expect(try await store.moveCursor(settings, of: .jobs, .place(after: nil, note: note))?.note == note)
        #expect(try await store.status(of: .jobs).cursors.count == Limits.cursorCountMax + 1)
    }
}
