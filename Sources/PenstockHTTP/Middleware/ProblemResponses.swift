package import HTTPTypes
package import Hummingbird
package import Logging
import PenstockCore

/// Makes a response of whatever a route throws, and sees to it that no response is taken for what it is not.
package struct ProblemResponses: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = Self.problem(error, context.logger).response
        }
        for (name, value) in Self.defaults where response.headers[name] == nil { response.headers[name] = value }
        if request.headers[.connection] == "close" { response.headers[.connection] = "close" }
        // The answer to HEAD has no body, whoever made it: the client would take its bytes for the next answer.
        return request.method == .head ? Self.head(of: response) : response
    }

    /// The answer to HEAD. Of a body that is written as it comes Hummingbird has said that it has no bytes.
    private static func head(of response: Response) -> Response {
        var head = response.createHeadResponse()
        if response.headers[.contentLength] ?? "0" == "0", response.headers[.contentType] != nil {
            // As the answer to GET has it, in place of a length; MessageFraming sees to it that no chunk follows.
            head.headers[.transferEncoding] = "chunked"
        }
        return head
    }

    /// What a client is told of an error. One that is the server's is logged.
    package static func problem(_ error: any Error, _ logger: Logger) -> Problem {
        guard let problem = Problem(known: error) else {
            // The text of such an error may say more than the client is to know.
            logger.error("A request failed: \(error)")
            return Problem(
                .internalServerError, code: "internal", "Something unexpected happened; the server's log says what.")
        }
        // What a stop of the server cuts short is no failure.
        if problem.status.kind == .serverError, !(error is CancellationError) {
            logger.error("A request failed: \(problem.detail)", metadata: ["code": "\(problem.code)"])
        }
        return problem
    }

    /// What each response says unless its route says otherwise: it is what it says it is, nothing in it may run or be loaded, it
    /// is shown in no other page, no page of another site loads it, and nobody keeps it.
    package static let defaults: [(HTTPField.Name, String)] = [
        (.xContentTypeOptions, "nosniff"),
        (.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'"),
        (.crossOriginResourcePolicy, "same-origin"),
        (.cacheControl, "no-store"),
    ]
}
