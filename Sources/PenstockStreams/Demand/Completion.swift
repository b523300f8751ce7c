/// How a stream ended.
enum Completion<Failure: Error>: Sendable {
    case finished
    case failed(Failure)

    var failure: Failure? {
        guard case .failed(let failure) = self else { return nil }
        return failure
    }
}
