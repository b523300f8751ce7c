package import Hummingbird

/// Looks at a request before any route is reached, and refuses it or lets it pass.
package protocol DoorCheck: Sendable {
    /// The answer to a request that is refused; `nil`: it passes, with what was found out about it in its context.
    func refusal(of request: Request, _ context: inout ServerContext) -> Response?
}

/// The checks at the door, one after the other, and what is told whoever passes them and asks for a path that there is not.
///
/// They wait for nothing, and are one step of each request and not several: a request that waits keeps a kilobyte for every step.
package struct DoorChecks: RouterMiddleware {
    /// The answer to a request for a path that there is not; `nil`: it is told so as a program is.
    package typealias UnknownPath = @Sendable (Request, ServerContext) -> Response?

    private let checks: [any DoorCheck]
    private let unknownPath: UnknownPath

    package init(_ checks: [any DoorCheck], unknownPath: @escaping UnknownPath = { _, _ in nil }) {
        self.checks = checks
        self.unknownPath = unknownPath
    }

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let refusal = refusal(of: request, &context) { return refusal }
        do {
            return try await next(request.inviting(by: context), context)
        } catch let error as HTTPError where error.status == .notFound {
            if let answer = unknownPath(request, context) { return answer }
            throw error
        }
    }

    /// The answer to a request that one of them refuses; `nil`: it passes all of them.
    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        for check in checks {
            if let refusal = check.refusal(of: request, &context) { return refusal }
        }
        return nil
    }
}
