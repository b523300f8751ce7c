import PenstockCore
import Testing

/// Each limit at the limit, and one beyond it.
@Suite struct ValidationTests {
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)

    private func refusal(of message: NewMessage) -> PenstockError.Code? {
        PenstockCoreTests.refusal { () throws(PenstockError) in try message.validate(now: now) }
    }

    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

    @Test func payload() throws {
        #expect(refusal(of: NewMessage(payload: [])) == nil)
        #expect(refusal(of: NewMessage(payload: bytes(Limits.payloadBytesMax))) == nil)
        let large = NewMessage(payload: bytes(Limits.payloadBytesMax + 1))
        #expect(refusal(of: large) == .invalidInput)
        let error = #expect(throws: PenstockError.self) { try large.validate(now: now) }
        #expect(error?.message.contains("payloadBytesMax") == true, "The limit is named.")
    }

    @Test func priority() {
        for priority in [-100, 0, 100] { #expect(refusal(of: NewMessage(payload: [], priority: priority)) == nil) }
        for priority in [-101, 101, Int.min, Int.max] {
            #expect(refusal(of: NewMessage(payload: [], priority: priority)) == .invalidInput)
        }
    }

    @Test func attempts() {
        for attempts in [nil, 1, 1000] { #expect(refusal(of: NewMessage(payload: [], attemptsMax: attempts)) == nil) }
        for attempts in [0, 1001, -1, Int.max] {
            #expect(refusal(of: NewMessage(payload: [], attemptsMax: attempts)) == .invalidInput)
        }
    }

    @Test func due() {
        let good: [Due] = [
            .now, .after(.zero), .after(Limits.delayMax), .at(now + Limits.delayMax),
            .at(Timestamp(microseconds: .min)),
        ]
        for due in good { #expect(refusal(of: NewMessage(payload: [], due: due)) == nil, "\(due)") }
        let bad: [Due] = [
            .after(.microseconds(-1)), .after(Limits.delayMax + .microseconds(1)),
            .at(now + Limits.delayMax + .microseconds(1)), .at(Timestamp(microseconds: .max)),
            .after(.seconds(Int64.max)),
        ]
        for due in bad { #expect(refusal(of: NewMessage(payload: [], due: due)) == .invalidInput, "\(due)") }
    }

    @Test func keyScopes() {
        for period in [Duration.milliseconds(1), .seconds(366 * 24 * 3600)] {
            #expect(refusal(of: NewMessage(payload: [], uniqueKey: UniqueKey("k", scope: .period(period)))) == nil)
        }
        for period in [Duration.zero, .microseconds(999), .seconds(366 * 24 * 3600 + 1), .seconds(-1)] {
            let message = NewMessage(payload: [], uniqueKey: UniqueKey("k", scope: .period(period)))
            #expect(refusal(of: message) == .invalidInput, "\(period)")
        }
        func debounced(_ due: Due, waitMax: Duration? = nil) -> NewMessage {
            NewMessage(payload: [], due: due, uniqueKey: UniqueKey("k", onConflict: .debounce, waitMax: waitMax))
        }
        for due in [Due.now, .after(.zero)] { #expect(refusal(of: debounced(due)) == .invalidInput) }
        #expect(refusal(of: debounced(.at(now))) == nil, "Its moment may have come while its producer waited for room.")
        for waitMax in [Duration.zero, Limits.delayMax] {
            #expect(refusal(of: debounced(.after(.seconds(1)), waitMax: waitMax)) == nil)
        }
        for waitMax in [Duration.seconds(-1), Limits.delayMax + .microseconds(1)] {
            #expect(refusal(of: debounced(.after(.seconds(1)), waitMax: waitMax)) == .invalidInput)
        }
    }

    @Test func uniqueKey() {
        let longest = String(repeating: "k", count: Limits.uniqueKeyBytesMax)
        for key in ["k", longest, "schlüssel 🔑"] {
            #expect(refusal(of: NewMessage(payload: [], uniqueKey: UniqueKey(key))) == nil)
        }
        for key in ["", longest + "k", "a\0b", String(repeating: "ü", count: Limits.uniqueKeyBytesMax / 2 + 1)] {
            #expect(refusal(of: NewMessage(payload: [], uniqueKey: UniqueKey(key))) == .invalidInput)
        }
    }

    @Test func batch() {
        func refusal(of batch: [NewMessage]) -> PenstockError.Code? {
            PenstockCoreTests.refusal { () throws(PenstockError) in try NewMessage.validate(batch: batch, now: now) }
        }
        let small = NewMessage(payload: [])
        let large = NewMessage(payload: bytes(Limits.payloadBytesMax))
        let fitting = Limits.batchBytesMax / Limits.payloadBytesMax
        #expect(refusal(of: []) == nil)
        #expect(refusal(of: Array(repeating: small, count: Limits.batchCountMax)) == nil)
        #expect(refusal(of: Array(repeating: small, count: Limits.batchCountMax + 1)) == .invalidInput)
        #expect(refusal(of: Array(repeating: large, count: fitting)) == nil)
        #expect(refusal(of: Array(repeating: large, count: fitting) + [NewMessage(payload: [1])]) == .invalidInput)
        #expect(refusal(of: [small, NewMessage(payload: [], priority: 101)]) == .invalidInput)
    }

    @Test func claim() {
        func refusal(_ limit: Int, _ lease: Duration) -> PenstockError.Code? {
            let request = ClaimRequest(queue: QueueName(stored: "q"), limit: limit, lease: lease)
            return PenstockCoreTests.refusal { () throws(PenstockError) in try request.validate() }
        }
        #expect(refusal(1, .milliseconds(100)) == nil)
        #expect(refusal(Limits.batchCountMax, .seconds(7 * 24 * 3600)) == nil)
        for limit in [0, -1, Limits.batchCountMax + 1] { #expect(refusal(limit, .seconds(30)) == .invalidInput) }
        for lease in [.microseconds(99_999), .zero, .seconds(-30), .seconds(7 * 24 * 3600) + .microseconds(1)] {
            #expect(refusal(1, lease) == .invalidInput)
        }
    }

    @Test func settlement() {
        func refusal(_ verdict: Verdict) -> PenstockError.Code? {
            let lease = Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1))
            return PenstockCoreTests.refusal { () throws(PenstockError) in
                try Settlement(lease, verdict).validate()
            }
        }
        let good: [Verdict] = [
            .done, .release, .retry(error: ""), .retry(error: "", after: .zero),
            .retry(error: "", after: Limits.delayMax), .dead(error: ""), .dead(error: "", reason: .undecodable),
        ]
        for verdict in good { #expect(refusal(verdict) == nil, "\(verdict)") }
        let delays: [Duration] = [.microseconds(-1), Limits.delayMax + .microseconds(1)]
        for delay in delays { #expect(refusal(.retry(error: "", after: delay)) == .invalidInput) }
        for reason in StateReason.allCases where reason != .rejected && reason != .undecodable {
            #expect(refusal(.dead(error: "", reason: reason)) == .invalidInput)
        }
    }

    @Test func queryAndSelection() {
        func refusal(_ limit: Int) -> PenstockError.Code? {
            PenstockCoreTests.refusal { () throws(PenstockError) in try MessageQuery(limit: limit).validate() }
        }
        for limit in [1, Limits.rowsMax] { #expect(refusal(limit) == nil) }
        for limit in [0, -1, Limits.rowsMax + 1] { #expect(refusal(limit) == .invalidInput) }

        let queue = QueueName(stored: "q")
        for (limit, code) in [(nil, nil), (0, nil), (5, nil), (-1, PenstockError.Code.invalidInput)] as [(Int?, _)] {
            let selection = Selection.queue(queue, states: [.ready], limit: limit)
            #expect(PenstockCoreTests.refusal { () throws(PenstockError) in try selection.validate() } == code)
        }
    }

    @Test func queuePolicyAndPruning() {
        func refusal(_ policy: QueuePolicy) -> PenstockError.Code? {
            PenstockCoreTests.refusal { () throws(PenstockError) in try policy.validate() }
        }
        #expect(refusal(QueuePolicy()) == nil)
        for count in [1, 1_000_000_000] {
            #expect(refusal(QueuePolicy(capacity: Capacity(count, whenFull: .fail))) == nil)
        }
        for count in [0, -1, 1_000_000_001] {
            #expect(refusal(QueuePolicy(capacity: Capacity(count, whenFull: .fail))) == .invalidInput)
        }
        #expect(refusal(QueuePolicy(retry: RetryPolicy(attemptsMax: 0))) == .invalidInput)

        let beyond = Limits.delayMax + .microseconds(1)
        let retentions: [(Retention, PenstockError.Code?)] = [
            (Retention(age: nil), nil),
            (Retention(age: .zero, count: 0, deadAge: .zero), nil),
            (Retention(age: Limits.delayMax, count: .max, deadAge: Limits.delayMax), nil),
            (Retention(age: .microseconds(-1)), .invalidInput),
            (Retention(age: beyond), .invalidInput),
            (Retention(count: -1), .invalidInput),
            (Retention(deadAge: .microseconds(-1)), .invalidInput),
            (Retention(deadAge: beyond), .invalidInput),
        ]
        for (retention, code) in retentions {
            #expect(refusal(QueuePolicy(retention: retention)) == code, "\(retention)")
            let request = PruneRequest(retention: retention, limit: 1)
            #expect(PenstockCoreTests.refusal { () throws(PenstockError) in try request.validate() } == code)
        }
        #expect(
            PenstockCoreTests.refusal { () throws(PenstockError) in try PruneRequest(limit: 0).validate() }
                == .invalidInput)
    }
}
