import PenstockCore
import PenstockTestKit

/// Unique keys, of all scopes. There are few, so that messages meet.
extension StepSource {
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
}
