import PenstockTestKit
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that know by the millisecond, or call by call, what the store in memory does: not for stores of other engines.
    static var inMemory: Self {
        .disabled(if: TestDatabase.isElsewhere, "It knows what the store in memory does, call by call.")
    }
}
