import HTTPTypes
import Hummingbird
import PenstockHTTP

/// What is answered to a method that a route has not: status 405, with the methods that it has (RFC 9110, 15.5.6).
enum OtherMethods {
    /// The method by which each route is asked for one that has no name in `RequestWords`: routes are found by names alone.
    private static let standIn = HTTPRequest.Method.trace

    /// Adds the answer to each route that `router` has by now.
    static func add(to router: Router<ServerContext>, problemPage: @escaping ProblemPage) {
        var methods: [String: (path: RouterPath, known: Set<HTTPRequest.Method>)] = [:]
        for route in router.routes {
            methods[route.path.description, default: (route.path, [])].known.insert(route.method)
        }
        for (path, known) in methods.values {
            // Hummingbird answers HEAD wherever there is GET.
            let known = known.contains(.get) ? known.union([.head]) : known
            let allowed = RequestWords.methods.filter(known.contains).map(\.rawValue).joined(separator: ", ")
            for method in RequestWords.methods + [standIn] where !known.contains(method) {
                let asked = method == standIn ? "such method" : method.rawValue
                router.on(path, method: method) { request, context in
                    let problem = Problem(
                        .methodNotAllowed, code: "methodNotAllowed",
                        "Here is no \(asked); there is \(allowed).")
                    var response = problemPage(problem, request, context) ?? problem.response
                    response.headers[.allow] = allowed
                    return response
                }
            }
        }
    }

    /// Asks `routes`, those to which `add(to:problemPage:)` has added its answers.
    struct Responder<Routes: HTTPResponder>: HTTPResponder where Routes.Context == ServerContext {
        let routes: Routes

        func respond(to request: Request, context: ServerContext) async throws -> Response {
            // CONNECT is asked of no path.
            if RequestWords.methods.contains(request.method) || request.method == .connect {
                return try await routes.respond(to: request, context: context)
            }
            var head = request.head
            head.method = OtherMethods.standIn
            return try await routes.respond(to: Request(head: head, body: request.body), context: context)
        }
    }
}
