import HTTPTypes
import Hummingbird
import Logging
import PenstockCore
import PenstockHTTP

/// Where pages are, and what every visit passes on its way to one.
struct Routes {
    let router: Router<ServerContext>
    let site: Site

    typealias Show = @Sendable (Visit) async throws -> Response

    /// A page.
    func get(_ path: RouterPath, _ show: @escaping Show) { add(path, .get, show) }

    /// An act, asked for by a form.
    func post(_ path: RouterPath, _ act: @escaping Show) { add(path, .post, act) }

    /// What everybody may have: no visitor has to be known.
    func open(_ path: RouterPath, _ method: HTTPRequest.Method, _ show: @escaping Show) {
        let site = site
        router.on(path, method: method) { request, context in
            try await Self.answer(Visit(site: site, request: request, context: context), show)
        }
    }

    private func add(_ path: RouterPath, _ method: HTTPRequest.Method, _ show: @escaping Show) {
        open(path, method) { visit in
            if visit.context.isKnown {
                var visit = visit
                visit.move = await visit.site.live.move(of: visit.site.store)
                return try await show(visit)
            }
            guard method == .get else {
                throw Problem(.unauthorized, code: "unauthorized", "Sign in first; nothing was done.")
            }
            return visit.redirect(to: Link.page("/login", ["to": visit.request.uri.string]))
        }
    }

    /// What the page is or, when it cannot be had, why.
    private static func answer(_ visit: Visit, _ show: Show) async throws -> Response {
        do {
            return try await show(visit)
        } catch {
            guard let problem = Problem(known: error, advice: .pages) else { throw error }
            if problem.status.kind == .serverError {
                visit.context.logger.error("A page failed: \(problem.detail)", metadata: ["code": "\(problem.code)"])
            }
            return visit.page(problem)
        }
    }
}
