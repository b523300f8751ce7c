import PenstockCore
import PenstockTestKit

/// Messages that expire, most of them soon.
extension StepSource {
    func expiry(_ due: Due) -> Expiry? {
        if random.chance(0.75) { return nil }
        let time = Duration.microseconds(number(1, random.chance(0.8) ? 20_000_000 : 200_000_000))
        if case .after(let delay) = due { return .after(delay + time) }
        return .after(time)
    }
}
