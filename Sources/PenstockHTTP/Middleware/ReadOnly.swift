import HTTPTypes
package import Hummingbird

/// Refuses whatever would change something.
package struct ReadOnly: DoorCheck {
    let passesBy: @Sendable (Request) -> Bool

    /// - Parameter passesBy: whether a request changes nothing in the store though its method could: it shows a token, say.
    package init(passesBy: @escaping @Sendable (Request) -> Bool) {
        self.passesBy = passesBy
    }

    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        guard request.isGetOrHead || passesBy(request) else {
            return Problem(
                .forbidden, code: "readOnly", "This server was started with --read-only, and changes nothing."
            ).response
        }
        return nil
    }
}
