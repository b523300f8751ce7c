package import Hummingbird

/// Looks at a request before any route is reached, and refuses it or lets it pass.
package protocol DoorCheck: Sendable {
    /// The answer to a request that is refused; `nil`: it passes, with what was found out about it in its context.
    func refusal(of request: Request, _ context: inout ServerContext) -> Response?
}

/// The checks at the door, one after the other. They wait for nothing, so they are one step of each request and not several.
package struct DoorChecks: RouterMiddleware {
    private let checks: [any DoorCheck]

    package init(_ checks: [any DoorCheck]) {
        self.checks = checks
    }

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let refusal = refusal(of: request, &context) { return refusal }
        return try await next(request, context)
    }

    /// The answer to a request that one of them refuses; `nil`: it passes all of them.
    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        for check in checks {
            if let refusal = check.refusal(of: request, &context) { return refusal }
        }
        return nil
    }
}
