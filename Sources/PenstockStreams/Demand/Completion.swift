/// How a stream ended.
@usableFromInline
package enum Completion<Failure: Error>: Sendable {
    case finished
    case failed(Failure)

    @inlinable package var failure: Failure? {
        guard case .failed(let failure) = self else { return nil }
        return failure
    }
}

extension Completion: Equatable where Failure: Equatable {}
