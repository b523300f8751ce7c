import PenstockCore
import PenstockTestKit

/// Groups and limits. There are few keys, so that messages meet.
extension StepSource {
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
}
