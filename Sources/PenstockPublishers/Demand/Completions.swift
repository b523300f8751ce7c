public import PenstockStreams

extension Completion {
    /// The end as cores know it.
    @inlinable init(_ completion: Subscribers.Completion<Failure>) {
        switch completion {
        case .finished: self = .finished
        case .failure(let failure): self = .failed(failure)
        }
    }
}

extension Subscribers.Completion {
    /// The end as subscribers are told of it: a finish, unless there is a failure.
    @inlinable init(failure: Failure?) {
        if let failure { self = .failure(failure) } else { self = .finished }
    }
}
