package import HTTPTypes

extension HTTPField.Name {
    /// A name that this program writes, and that is a token as it has to be.
    package init(known text: String) {
        guard let name = HTTPField.Name(text) else { preconditionFailure("'\(text)' is no name of a header.") }
        self = name
    }

    /// Whether proxies keep a response until it is whole: one that goes on they would keep for ever.
    package static let proxyBuffering = HTTPField.Name(known: "X-Accel-Buffering")
    /// Which action a request asks for that is one of Amazon's, to whatever path.
    package static let amazonTarget = HTTPField.Name(known: "X-Amz-Target")
}
