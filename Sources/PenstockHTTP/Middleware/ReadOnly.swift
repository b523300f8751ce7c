import HTTPTypes
package import Hummingbird

/// Refuses whatever would change something.
package struct ReadOnly: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .get || request.method == .head else {
            return Problem(
                .forbidden, code: "readOnly", "This server was started with --read-only, and changes nothing."
            ).response
        }
        return try await next(request, context)
    }
}
