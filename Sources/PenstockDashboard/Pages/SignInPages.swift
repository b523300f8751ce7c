import HTTPTypes
import Hummingbird
import PenstockHTTP

/// `/login` and `/logout`: a token, once, and then a cookie. And what every page needs, whoever sees it.
struct SignInPages {
    func add(to routes: Routes) {
        for asset in [Assets.style, Assets.script] {
            routes.open(RouterPath(asset.path), .get) { _ in asset.response }
        }
        routes.open("/login", .get) { visit in
            let query = try visit.query(["to"])
            return Self.page(visit, to: query.text("to"))
        }
        routes.open("/login", .post, signIn)
        routes.open("/logout", .post) { visit in
            var response = visit.redirect(to: "/login", saying: "You have signed out.")
            response.setCookie(visit.cookie(Authentication.cookieName, "", seconds: 0))
            return response
        }
        routes.get("/events") { visit in
            // Also that something has changed, and when, is for those alone who may look at a queue.
            try visit.principal.require(.read)
            let context = visit.context
            return try EventStream(live: visit.site.live, reader: { context.principalNow }).response()
        }
    }

    @Sendable private func signIn(_ visit: Visit) async throws -> Response {
        // Anybody may ask for this: no more is read for him than a token and a place.
        let form = try await visit.form(["token", "to"], bytesMax: 16 * 1024)
        let token = form.text("token")?.trimmed ?? ""
        guard visit.site.tokens == nil || visit.site.tokens?.principal(showing: token) != nil else {
            return Self.page(visit, to: form.text("to"), problem: "There is no such token.", status: .unauthorized)
        }
        var response = visit.redirect(to: Self.place(form.text("to")))
        // It ends with the browser's session.
        if visit.site.tokens != nil {
            response.setCookie(visit.cookie(Authentication.cookieName, token, seconds: nil))
        }
        return response
    }

    private static func page(
        _ visit: Visit, to: String?, problem: String? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        var fields: Fields = ["to": place(to), "isAsked": visit.site.tokens != nil]
        if let problem { fields["problem"] = problem }
        return visit.page("login", "Sign in", in: nil, status: status, fields)
    }

    /// Where to go: a page of this server, and nowhere else.
    static func place(_ text: String?) -> String {
        guard let text, text.hasPrefix("/"), !text.hasPrefix("//"),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return "/" }
        return text
    }
}
