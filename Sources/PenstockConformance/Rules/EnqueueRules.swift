import PenstockCore
import PenstockTestKit
import Testing

/// What is accepted, how it comes back, and what is refused.
enum EnqueueRules {
    static let cases: ConformanceCase.Rules = [
        "keeps every field": keepsEveryField,
        "takes payloads, headers and names as they are": takesAnyText,
        "tells names apart by their bytes": tellsNamesApart,
        "numbers a batch in its order": numbersInOrder,
        "never uses a number twice": neverReusesNumbers,
        "keeps due times to the microsecond": keepsDueTimes,
        "says the durability in the receipt": saysDurability,
        "leaves nothing of a batch with invalid input": leavesNothingInvalid,
        "bounds a batch": boundsBatches,
        "knows its queues": knowsQueues,
        "does nothing for a cancelled caller": obeysCancellation,
        "is seen by every process at once": isSeenByOthers,
    ]

    static func keepsEveryField(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let new = NewMessage(
            payload: [0, 1, 127, 128, 255], headers: ["trace-id": "7f", "Empty": ""], priority: -7,
            due: .after(.seconds(60)), attemptsMax: 5, uniqueKey: UniqueKey("invoice/1"),
            origin: SequenceNumber(4_000_000_000))
        let receipt = try await store.put(new)
        let accepted = bench.time.now
        #expect(receipt == Receipt(sequence: receipt.sequence, state: .scheduled, durability: .processCrash))

        var expected = MessageRecord(
            sequence: receipt.sequence, queue: .jobs, state: .scheduled, priority: -7, attempt: 0, attemptsMax: 5,
            enqueuedAt: accepted, due: accepted + .seconds(60), uniqueKey: "invoice/1", keyScope: .untilEnded,
            headers: ["trace-id": "7f", "Empty": ""], origin: SequenceNumber(4_000_000_000), payloadBytes: 5,
            payload: [0, 1, 127, 128, 255])
        #expect(try await store.record(receipt.sequence) == expected)

        bench.time.advance(by: .seconds(60))
        let message = try await store.takeOne()
        #expect(message.sequence == receipt.sequence)
        #expect(message.attempt == 1)
        #expect(message.enqueuedAt == accepted)
        #expect(message.priority == -7)
        #expect(message.headers == new.headers)
        #expect(message.payload == new.payload)
        #expect(message.origin == new.origin)

        let leased = try await store.record(receipt.sequence)
        expected.state = .leased
        expected.due = nil
        expected.attempt = 1
        expected.claimedAt = bench.time.now
        expected.leaseEndsAt = bench.time.now + .seconds(30)
        expected.worker = leased.worker
        #expect(leased == expected)
        #expect(leased.worker != nil)

        #expect(try await store.give(.done, for: message) == .settled(.done))
        expected.state = .done
        expected.claimedAt = nil
        expected.leaseEndsAt = nil
        expected.worker = nil
        expected.finishedAt = bench.time.now
        #expect(try await store.record(receipt.sequence) == expected)
    }

    /// The two ways to write an accent are one text to Swift, and two names.
    static func tellsNamesApart(_ bench: Bench) async throws {
        let store = try await bench.open()
        let names = ["caf\u{e9}", "cafe\u{301}"]
        let queues = try names.map { try QueueName($0) }
        for queue in queues { try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false)) }
        for queue in queues { try await store.put("to \(queue.text.utf8.count) bytes", to: queue) }
        #expect(try await store.status(of: nil).queues.count == 2)
        #expect(try await store.drain(queues[0]) == ["to 5 bytes"])
        #expect(try await store.drain(queues[1]) == ["to 6 bytes"])
    }

    static func takesAnyText(_ bench: Bench) async throws {
        let store = try await bench.open()
        let queue = try QueueName("Füße 'n\" %_; 你好 👩‍👩‍👧")
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false))
        let new = NewMessage(
            payload: [], headers: ["a": "line\nbreak 'quoted\" \\ 👍\u{1}"],
            uniqueKey: UniqueKey("k'e\"y;\n👍"))
        let sequence = try await store.put(new, to: queue).sequence
        let record = try await store.record(sequence)
        #expect(record.queue == queue)
        #expect(record.headers == new.headers)
        #expect(record.uniqueKey == new.uniqueKey?.key)
        #expect(record.payload == [])
        #expect(record.payloadBytes == 0)
        #expect(try await store.put(new, to: queue).skipped)
        let message = try await store.takeOne(from: queue)
        #expect(message.payload == [])
        #expect(message.headers == new.headers)
    }

    static func numbersInOrder(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put((1...50).map { .text("a\($0)") })
        let second = try await store.put((1...50).map { .text("b\($0)") })
        let sequences = (first + second).map(\.sequence)
        #expect(sequences.count == 100)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
        #expect((first + second).allSatisfy { $0.state == .ready && !$0.skipped && $0.displaced == nil })
        #expect(try await store.drain() == (1...50).map { "a\($0)" } + (1...50).map { "b\($0)" })
    }

    static func neverReusesNumbers(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: QueuePolicy())
        let first = try await store.put("1")
        let second = try await store.put("2", to: .mail)
        #expect(first < second, "Numbers run over the whole store.")

        try await store.work(.done, from: .mail)
        #expect(try await store.prune(PruneRequest(retention: Retention(age: .zero))).messages == 1)
        let third = try await store.put("3", to: .mail)
        #expect(second < third, "Pruning gives no number back.")

        try await store.configure(.mail, .delete(force: true))
        try await store.configure(.jobs, .delete(force: true))
        try await store.close()
        let later = try await bench.open(.steady())
        #expect(third < (try await later.put("4")), "Nor does deleting, or opening the store anew.")
    }

    static func keepsDueTimes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let now = bench.time.now
        let microsecond = Duration.microseconds(1)
        let cases: [(Due, Timestamp?)] = [
            (.now, nil),
            (.after(.zero), nil),
            (.after(.nanoseconds(999)), nil),
            (.after(microsecond), now + microsecond),
            (.after(.microseconds(1_000_001)), now + .microseconds(1_000_001)),
            (.after(.milliseconds(1)), now + .milliseconds(1)),
            (.at(now), nil),
            (.at(now - .seconds(3600)), nil),
            (.at(now + microsecond), now + microsecond),
            (.after(Limits.delayMax), now + Limits.delayMax),
        ]
        let receipts = try await store.put(cases.map { .text("x", due: $0.0) })
        for (receipt, (due, expected)) in zip(receipts, cases) {
            let record = try await store.record(receipt.sequence)
            #expect(record.due == expected, "\(due)")
            #expect(record.state == (expected == nil ? .ready : .scheduled), "\(due)")
            #expect(receipt.state == record.state)
        }
    }

    static func saysDurability(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for durability in Durability.allCases {
            let receipts = try await store.enqueue([.text("x"), .text("y")], to: .jobs, durability: durability)
            #expect(receipts.map(\.durability) == [durability, durability])
        }
    }

    static func leavesNothingInvalid(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropOldest))
        let kept = try await store.put([.text("kept", key: "k"), .text("kept")])
        let before = try await store.queueStatus()
        let invalid: [NewMessage] = [
            .text("x", priority: 101),
            .text("x", priority: -101),
            .text("x", due: .after(.seconds(-1))),
            .text("x", due: .after(Limits.delayMax + .seconds(1))),
            .text("x", attemptsMax: 0),
            .text("x", attemptsMax: 1001),
            .text("x", key: ""),
            .text("x", key: String(repeating: "k", count: Limits.uniqueKeyBytesMax + 1)),
            .text("x", key: "zero\0byte"),
            NewMessage(payload: [], headers: ["": "no name"]),
            NewMessage(payload: [], headers: ["sp ace": "x"]),
            NewMessage(payload: [], headers: ["zero": "\0"]),
            NewMessage(payload: [], headers: ["a-b": "1", "A_B": "2"]),
            NewMessage(payload: [], headers: ["long": String(repeating: "v", count: Limits.headerBytesMax)]),
            NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax + 1)),
        ]
        for bad in invalid {
            let good = [NewMessage.text("new"), .text("new", key: "k", onConflict: .replace)]
            await expect(.invalidInput) { try await store.put(good + [bad]) }
        }
        #expect(try await store.queueStatus() == before)
        let records = try await store.messages(MessageQuery(withPayload: true))
        #expect(records.map(\.sequence) == kept.map(\.sequence))
        #expect(records.map(\.text) == ["kept", "kept"])
    }

    static func boundsBatches(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        #expect(try await store.put([]).isEmpty)
        let most = Array(repeating: NewMessage.text("x"), count: Limits.batchCountMax)
        await expect(.invalidInput) { try await store.put(most + [.text("one more")]) }
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax))
        await expect(.invalidInput) {
            try await store.put(Array(repeating: large, count: Limits.batchBytesMax / Limits.payloadBytesMax + 1))
        }
        #expect(try await store.totals() == .of())
        #expect(try await store.put(most).count == Limits.batchCountMax)
        #expect(try await store.depths() == .of(ready: Limits.batchCountMax))

        let sequence = try await store.put(large).sequence
        #expect(try await store.record(sequence).payload == large.payload, "The largest payload comes back.")
    }

    static func knowsQueues(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        await expect(.unknownQueue) { try await store.put("x", to: .mail) }
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        try await store.put("x", to: .mail)
        #expect(try await store.depths(.mail) == .of(ready: 1))
        #expect(try await store.depths(.jobs) == .of())
    }

    static func obeysCancellation(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.put("x")
        }
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(try await store.totals().enqueued == 0)
        #expect(try await store.put("y").rawValue > 0, "The store is as good as before.")
    }

    static func isSeenByOthers(_ bench: Bench) async throws {
        let (producer, worker) = try await bench.openTwo(.steady())
        for index in 1...20 {
            let sequence = try await producer.put("job \(index)")
            let message = try await worker.takeOne()
            #expect(message.sequence == sequence)
            #expect(message.text == "job \(index)")
        }
        #expect(try await producer.depths() == .of(leased: 20))
    }
}
