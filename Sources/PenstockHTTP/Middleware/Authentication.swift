import HTTPTypes
package import Hummingbird

/// Finds out who makes a request, before any route is reached.
///
/// A token is shown as `Authorization: Bearer TOKEN`, or in the cookie that the dashboard's page for it sets. Requests that are
/// signed instead, as those of Amazon's clients are, pass by here and are looked at by their own routes.
package struct Authentication: DoorCheck {
    package static let cookieName = "penstock_token"

    let tokens: Tokens?
    let passesBy: @Sendable (Request) -> Bool

    /// - Parameters:
    ///   - tokens: the tokens that are known, which every address asks for: a proxy may lead anybody to a socket in the file system;
    ///     `nil`: none is asked for, as only this machine can reach the server.
    ///   - passesBy: whether a request shows by other means who makes it, or asks for what everybody may have.
    package init(_ tokens: Tokens?, passesBy: @escaping @Sendable (Request) -> Bool) {
        self.tokens = tokens
        self.passesBy = passesBy
    }

    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        if let tokens {
            if let secret = Self.shown(in: request), let principal = tokens.principal(showing: secret) {
                context.principal = principal
                context.shown = (secret, tokens)
            } else if !passesBy(request) {
                var response = Problem.unauthorized.response
                response.headers[.wwwAuthenticate] = "Bearer realm=\"penstock\""
                return response
            }
        } else {
            context.principal = .local
        }
        return nil
    }

    /// The token that a request shows. A header of another scheme is not for this server: a browser sends a proxy the password that
    /// the proxy has asked for (`Basic`), with each request.
    private static func shown(in request: Request) -> String? {
        if let header = request.headers[.authorization] {
            let scheme = header.prefix { $0 != " " }
            if scheme.lowercased() == "bearer" {
                let secret = header[scheme.endIndex...].drop { $0 == " " }
                return secret.isEmpty ? nil : String(secret)
            }
        }
        return request.cookies[cookieName]?.value
    }
}
