import HTTPTypes
package import Hummingbird
package import PenstockHTTP

/// Answers a browser at an unknown path with a page. Programs get a problem.
package struct UnknownPages: RouterMiddleware {
    let site: Site

    package func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && Self.isByBrowser(request) {
            let title = error.status.reasonPhrase
            return Visit(site: site, request: request, context: context).page(
                "problem", title, in: nil, status: .notFound, ["heading": title, "detail": Problem.unknownPath])
        }
    }

    private static func isByBrowser(_ request: Request) -> Bool {
        (request.method == .get || request.method == .head)
            && request.headers[values: .accept].contains { $0.lowercased().contains("text/html") }
    }
}
