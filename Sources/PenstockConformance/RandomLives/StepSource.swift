import PenstockCore
import PenstockTestKit

/// Makes the steps of a random life. The same seed and the same answers of the store make the same life.
struct StepSource {
    static let handleCount = 3
    static let queues = [QueueName(stored: "bounded"), QueueName(stored: "free"), QueueName(stored: "fickle")]

    let random: SeededRandom
    /// Chances of their own, so that the lives of before stay what they were.
    let filters: SeededRandom
    /// Whether messages have groups, and queues limits.
    var hasGroups = false
    /// Whether queues have rates, and are shared fairly.
    var hasRates = false

    /// The next step of a life in which so many leases were given and numbers used.
    func next(leaseCount: Int, last: Int) -> Step {
        let handle = random.next(in: 0...(Self.handleCount - 1))
        let queue = random.pick(Self.queues) ?? Self.queues[0]
        if hasGroups, random.chance(0.02) { return .setLimit(by: handle, Self.sharedLimit, number(1, 6)) }
        switch random.next(in: 0...99) {
        case 0..<18: return .enqueue(by: handle, queue, batch())
        case 18..<23: return .start(by: handle, workflow())
        case 23: return .cancelWorkflow(by: handle, workflowName())
        case 24: return .emit(by: handle, event(), target(last))
        case 25: return .record(by: handle, step(), lease: leases(leaseCount).first ?? -1)
        case 26..<48:
            let remote = number(0, 3) == 0 ? WorkerName(stored: "remote \(number(1, 2))") : nil
            return .claim(
                by: handle, queue, limit: random.next(in: 1...6), lease: .seconds(number(1, 40)), for: remote)
        case 48..<63: return .settle(by: handle, leases(leaseCount).map { ($0, verdict()) })
        case 63..<66: return finish(by: handle, leaseCount)
        case 66..<69: return .extend(by: handle, leases: leases(leaseCount), .seconds(number(1, 40)))
        case 69: return .expectEnd(by: handle, SequenceNumber(Int64(max(1, last - number(-1, 9)))))
        case 70..<75: return .reclaim(by: handle)
        case 75..<77: return .crash(handle)
        case 77: return .close(handle)
        case 78..<81: return .configure(by: handle, queue, change())
        case 81..<86: return .apply(by: handle, random.pick(LineCommand.allCases) ?? .cancel, selection(queue, last))
        case 86..<88: return .prune(by: handle, prune(queue))
        case 88..<91: return .query(by: handle, query(queue, last))
        case 91: return .setWallClock(by: .seconds(number(-3000, 3000)))
        case 92, 93: return .append(by: handle, queue, appended())
        case 94: return .readLog(by: handle, logQuery(queue, last))
        case 95: return .moveCursor(by: handle, cursor(), queue, cursorMove(last))
        default: return .pass(.milliseconds(number(1, 8000)))
        }
    }

    func number(_ low: Int, _ high: Int) -> Int { random.next(in: low...high) }

    private func batch() -> [NewMessage] {
        (0..<number(1, random.chance(0.2) ? 12 : 3)).map { _ in
            let due: Due =
                random.chance(0.7) ? .now : .after(.microseconds(number(0, 12_000_000)))
            return NewMessage(
                payload: (0..<number(0, 4)).map { _ in UInt8(number(0, 255)) },
                headers: random.chance(0.1) ? ["n": "\(number(0, 9))"] : [:],
                priority: random.chance(0.3) ? number(-2, 2) : 0,
                due: due,
                attemptsMax: random.chance(0.2) ? number(1, 4) : nil,
                uniqueKey: uniqueKey(due),
                group: group(),
                expiry: expiry(due),
                origin: random.chance(0.05) ? SequenceNumber(Int64(number(1, 9))) : nil)
        }
    }

    private func appended() -> [NewMessage] {
        batch().map { NewMessage(payload: $0.payload, headers: $0.headers, priority: $0.priority) }
    }

    private func cursor() -> CursorName { CursorName(stored: "cursor \(number(1, 2))") }

    private func cursorMove(_ last: Int) -> CursorMove {
        let place = SequenceNumber(Int64(max(0, last - number(-1, 9))))
        return switch number(0, 9) {
        case 0...3: .place(after: random.chance(0.5) ? place : nil, note: random.chance(0.5) ? "note" : nil)
        case 4...8: .advance(to: place, missed: number(0, 1))
        default: .remove
        }
    }

    private func logQuery(_ queue: QueueName, _ last: Int) -> LogQuery {
        let place = SequenceNumber(Int64(max(0, last - number(0, 30))))
        let start: LogQuery.Start =
            switch number(0, 3) {
            case 0: .last(number(0, 12))
            case 1: .preceding(place, number(0, 12))
            default: .after(place)
            }
        return LogQuery(
            queue: queue, start, limit: number(1, 20),
            cursor: random.chance(0.5) ? cursor() : nil)
    }

    /// Mostly leases given lately, sometimes old ones, and some of them twice.
    func leases(_ count: Int) -> [Int] {
        guard count > 0 else { return [] }
        return (0..<number(1, 4)).map { _ in
            random.chance(0.8) ? max(0, count - number(1, 8)) : number(0, count - 1)
        }
    }

    private func verdict() -> Verdict {
        if hasRates, random.chance(0.15) {
            return .retry(error: "429", after: .milliseconds(number(0, 5000)), holdsGroup: true)
        }
        return switch number(0, 10) {
        case 10: .suspend(until: Timestamp(microseconds: 0), event: random.chance(0.5) ? event() : nil)
        case 0...3: .done
        case 4, 5: .retry(error: "error \(number(1, 99))")
        case 6: .retry(error: "slow", outcome: .timedOut, after: .milliseconds(number(0, 3000)))
        case 7: .dead(error: "bad", reason: random.chance(0.5) ? .rejected : .undecodable)
        default: .release
        }
    }

    private func change() -> QueueChange {
        if hasGroups, random.chance(0.3) {
            let key = "group \(number(1, 3))"
            if hasRates, random.chance(0.3) { return .setGroupWeight(key, number(1, 4)) }
            return random.chance(0.5) ? .pauseGroup(key) : .resumeGroup(key)
        }
        return switch number(0, 9) {
        case 0...2: .set(policy())
        case 3, 4: .pause
        case 5, 6: .resume
        case 7: .create(policy(), ifAbsent: random.chance(0.5))
        case 8: .delete(force: false)
        default: .delete(force: random.chance(0.3))
        }
    }

    /// Without jitter: two stores draw their chances in different orders.
    func policy() -> QueuePolicy {
        var policy = QueuePolicy.steady(
            random.chance(0.7) ? number(1, 9) : nil, random.pick(OverflowPolicy.allCases) ?? .fail,
            attemptsMax: number(1, 4))
        policy.retention = retention()
        policy.whenExpired = random.chance(0.5) ? .drop : .dead
        if hasGroups { limit(&policy) }
        if hasRates { rates(&policy) }
        return policy
    }

    private func retention() -> Retention {
        Retention(
            age: random.chance(0.5) ? .seconds(number(0, 200)) : nil, count: random.chance(0.5) ? number(0, 30) : nil,
            deadAge: random.chance(0.3) ? .seconds(number(0, 200)) : nil)
    }

    private func selection(_ queue: QueueName, _ last: Int) -> Selection {
        let states = Set(MessageState.allCases.filter { _ in random.chance(0.5) })
        if random.chance(0.4) {
            return .queue(
                queue, states: states, group: random.chance(0.3) ? group() : nil,
                matching: hasRates ? MessageFilter() : filter(),
                limit: random.chance(0.5) ? number(0, 4) : nil, expected: hasRates ? nil : expectedCount())
        }
        return .sequences((0..<number(1, 3)).map { _ in SequenceNumber(Int64(max(1, last - number(-1, 15)))) })
    }

    private func prune(_ queue: QueueName) -> PruneRequest {
        PruneRequest(
            queue: random.chance(0.5) ? queue : nil, retention: random.chance(0.5) ? retention() : nil,
            limit: number(1, 20))
    }

    private func query(_ queue: QueueName, _ last: Int) -> MessageQuery {
        func sometimes<Value>(_ value: @autoclosure () -> Value) -> Value? { random.chance(0.3) ? value() : nil }
        func sequence() -> SequenceNumber { SequenceNumber(Int64(number(0, last))) }
        return MessageQuery(
            queue: sometimes(queue),
            sequences: sometimes((0..<5).map { _ in sequence() }),
            group: random.chance(0.3) ? group() : nil,
            matching: filter(),
            states: sometimes(Set(MessageState.allCases.filter { _ in random.chance(0.4) })),
            after: sometimes(sequence()),
            preceding: filters.chance(0.3) ? SequenceNumber(Int64(filters.next(in: 0...last))) : nil,
            end: random.chance(0.5) ? .first : .last,
            limit: number(1, 50),
            lookMax: filters.chance(0.3) ? filters.next(in: 1...50) : Limits.lookCountMax,
            withPayload: random.chance(0.5),
            withAttempts: random.chance(0.5))
    }
}
