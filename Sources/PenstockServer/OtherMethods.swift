import HTTPTypes
import Hummingbird
import PenstockHTTP

/// What is answered to a method that a route has not: status 405, with the methods that it has (RFC 9110, 15.5.6).
enum OtherMethods {
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
            for method in RequestWords.methods where !known.contains(method) {
                router.on(path, method: method) { request, context in
                    let problem = Problem(
                        .methodNotAllowed, code: "methodNotAllowed",
                        "Here is no \(method.rawValue); there is \(allowed).")
                    var response = problemPage(problem, request, context) ?? problem.response
                    response.headers[.allow] = allowed
                    return response
                }
            }
        }
    }
}
