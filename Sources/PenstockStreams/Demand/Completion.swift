/// How a stream ended.
@usableFromInline enum Completion<Failure: Error>: Sendable {
    case finished
    case failed(Failure)

    @inlinable var failure: Failure? {
        guard case .failed(let failure) = self else { return nil }
        return failure
    }
}
