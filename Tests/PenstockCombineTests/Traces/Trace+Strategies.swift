import PenstockCombine
import PenstockStreams
import PenstockTestKit

extension BufferPrefetch {
    /// The same as a strategy of Combine.
    var strategy: Publishers.PrefetchStrategy { self == .byRequest ? .byRequest : .keepFull }
}

extension Trace.Overflow {
    /// The same as a strategy of Combine.
    func strategy<Failure: Error>() -> Publishers.BufferingStrategy<Failure> {
        switch self {
        case .dropNewest: .dropNewest
        case .dropOldest: .dropOldest
        case .wait: preconditionFailure("No publisher lets its source wait.")
        }
    }
}
