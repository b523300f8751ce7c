package import Hummingbird

/// Looks at a request before any route is reached, and refuses it or lets it pass.
package protocol DoorCheck: Sendable {
    /// The answer to a request that is refused; `nil`: it passes, with what was found out about it in its context.
    func refusal(of request: Request, _ context: inout ServerContext) -> Response?
}

/// The answer to somebody who looks for a page where there is none; `nil`: the problem is told as it is to a program.
package typealias ProblemPage = @Sendable (Problem, Request, ServerContext) -> Response?

/// The checks at the door, one after the other, and what is told whoever passes them and asks for a path that there is not.
///
/// They wait for nothing, and are one step of each request and not several: a request that waits keeps a kilobyte for every step.
package struct DoorChecks: RouterMiddleware {
    private let checks: [any DoorCheck]
    private let problemPage: ProblemPage

    package init(_ checks: [any DoorCheck], problemPage: @escaping ProblemPage = { _, _, _ in nil }) {
        self.checks = checks
        self.problemPage = problemPage
    }

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        if let refusal = refusal(of: request, &context) { return refusal }
        do {
            return try await next(request.inviting(by: context), context)
        } catch let error as HTTPError where error.status == .notFound {
            guard let problem = Problem(known: error), let page = problemPage(problem, request, context) else {
                throw error
            }
            return page
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
