import HTTPTypes
package import Hummingbird

/// Refuses whatever would change something.
package struct ReadOnly: RouterMiddleware {
    let passesBy: @Sendable (Request) -> Bool

    /// - Parameter passesBy: whether a request changes nothing in the store though its method could: it shows a token, say.
    package init(passesBy: @escaping @Sendable (Request) -> Bool) {
        self.passesBy = passesBy
    }

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .get || request.method == .head || passesBy(request) else {
            return Problem(
                .forbidden, code: "readOnly", "This server was started with --read-only, and changes nothing."
            ).response
        }
        return try await next(request, context)
    }
}
