import PenstockCore

/// An answer that no server of this release gives: a page of a proxy in between, or what another program says.
struct ForeignAnswer {
    /// The status of the response.
    let status: Int

    /// The error that a caller of the store gets.
    ///
    /// Whoever answers may have handed the request on before, as a proxy has whose patience is over. So of what changes something
    /// nobody knows.
    func error(at url: ServerURL, _ purpose: RequestPurpose) -> PenstockError {
        switch purpose {
        case .greeting where !mayPass:
            PenstockError(
                .invalidInput,
                "What answers at \(url), with status \(status), is no Penstock server of this release; is it the right address?"
            )
        case .greeting, .reading:
            PenstockError(
                .unreachable,
                "In place of the server at \(url) another program answers, with status \(status), and nothing was done; is the server running behind it?"
            )
        case .changing:
            PenstockError(
                .outcomeUnknown,
                "In place of the server at \(url) another program answers, with status \(status): nobody knows whether the call took effect."
            )
        }
    }

    /// Whether the same request may be answered by the server later: those in between say so when it is away, or slow.
    private var mayPass: Bool { status >= 500 || status == 429 }
}
