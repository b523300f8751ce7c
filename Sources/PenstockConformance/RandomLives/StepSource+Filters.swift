import PenstockCore
import PenstockTestKit

/// What messages are chosen by that no index tells of.
extension StepSource {
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
