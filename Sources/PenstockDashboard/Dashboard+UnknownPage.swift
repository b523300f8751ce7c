import HTTPTypes
package import Hummingbird
package import PenstockHTTP

extension Dashboard {
    /// What a browser is shown at a path that there is not; `nil` for a program.
    package func unknownPage(_ request: Request, _ context: ServerContext) -> Response? {
        guard Self.isByBrowser(request) else { return nil }
        let status = HTTPResponse.Status.notFound
        return Visit(site: site, request: request, context: context).page(
            "problem", status.reasonPhrase, in: nil, status: status,
            ["heading": status.reasonPhrase, "detail": Problem.unknownPath])
    }

    private static func isByBrowser(_ request: Request) -> Bool {
        (request.method == .get || request.method == .head)
            && request.headers[values: .accept].contains { $0.lowercased().contains("text/html") }
    }
}
