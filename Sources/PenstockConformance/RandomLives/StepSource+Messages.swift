import PenstockCore
import PenstockTestKit

/// What messages and queues have and not all do, and what they are chosen by.
extension StepSource {
    /// Unique keys, of all scopes. There are few, so that messages meet.
    func uniqueKey(_ due: Due) -> UniqueKey? {
        guard random.chance(0.4) else { return nil }
        var key = UniqueKey("key \(number(1, 5))", scope: scope(), onConflict: random.chance(0.4) ? .skip : .replace)
        switch number(0, 3) {
        case 0: key.onConflict = .throttle
        case 1:
            // Without a delay it would be refused.
            guard case .after(let delay) = due, delay > .zero else { break }
            key.onConflict = .debounce
            if random.chance(0.6) { key.waitMax = .milliseconds(number(0, 15_000)) }
        default: break
        }
        return key
    }

    private func scope() -> KeyScope {
        switch number(0, 4) {
        case 0, 1: .untilEnded
        case 2, 3: .whileWaiting
        default: .period(.milliseconds(number(1, 20_000)))
        }
    }

    // MARK: Groups and limits. There are few keys, so that messages meet.

    static let sharedLimit = LimitName(stored: "shared")

    func group() -> String? { hasGroups && random.chance(0.7) ? "group \(number(1, 3))" : nil }

    func limit(_ policy: inout QueuePolicy) {
        switch number(0, 9) {
        case 0...3: policy.groups = .fifo(onDead: random.chance(0.5) ? .next : .hold)
        case 4...7: policy.groups = .limit(number(1, 3))
        default: break
        }
        if random.chance(0.3) { policy.limit = number(1, 5) }
        if random.chance(0.3) { policy.sharedLimit = Self.sharedLimit }
    }

    func rates(_ policy: inout QueuePolicy) {
        func rate() -> Rate { Rate(number(1, 5), per: .milliseconds(number(100, 6000)), burst: number(1, 3)) }
        policy.isFair = random.chance(0.4)
        if random.chance(0.3) { policy.rate = rate() }
        if policy.groups != nil, random.chance(0.5) { policy.ratePerKey = rate() }
    }

    /// Messages that expire, most of them soon.
    func expiry(_ due: Due) -> Expiry? {
        if random.chance(0.75) { return nil }
        let time = Duration.microseconds(number(1, random.chance(0.8) ? 20_000_000 : 200_000_000))
        if case .after(let delay) = due { return .after(delay + time) }
        return .after(time)
    }

    /// What messages are chosen by that no index tells of.
    func filter() -> MessageFilter {
        guard filters.chance(0.4) else { return MessageFilter() }
        return switch filters.next(in: 0...4) {
        case 0: MessageFilter(uniqueKey: "key \(filters.next(in: 1...5))")
        case 1: MessageFilter(headers: ["n": "\(filters.next(in: 0...9))"])
        case 2: MessageFilter(errorContains: "\(filters.next(in: 0...9))")
        case 3: MessageFilter(payloadContains: String(UnicodeScalar(UInt8(filters.next(in: 0...127)))))
        default:
            MessageFilter(signature: ErrorSignature(filters.pick([.rejected, .attemptsExhausted]), "error 7"))
        }
    }

    func expectedCount() -> Int? { filters.chance(0.2) ? filters.next(in: 0...4) : nil }
}
