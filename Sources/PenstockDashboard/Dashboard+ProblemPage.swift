import HTTPTypes
package import Hummingbird
package import PenstockHTTP

extension Dashboard {
    /// What a browser is shown at a path that there is not, or that is no page; `nil` for a program.
    package func problemPage(_ problem: Problem, _ request: Request, _ context: ServerContext) -> Response? {
        guard Self.isByBrowser(request), !request.uri.path.hasPrefix("/v1/") else { return nil }
        let isForms = problem.status == .methodNotAllowed
        return Visit(site: site, request: request, context: context).page(
            Problem(
                problem.status, code: problem.code,
                isForms ? "Forms are sent here; this is no page." : "There is no such page."))
    }

    private static func isByBrowser(_ request: Request) -> Bool {
        request.isGetOrHead
            && request.headers[values: .accept].contains { $0.lowercased().contains("text/html") }
    }
}
