import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// When a page that is open is brought up to date.
enum Freshness {
    /// When somebody asks for it.
    case still
    /// When that queue changes.
    case queue(QueueName)
    /// When any queue changes, and every few seconds.
    case all

    /// What the script reads; `nil`: it leaves the page alone.
    fileprivate var mark: String? {
        switch self {
        case .still: nil
        case .queue(let name): name.text
        case .all: "*"
        }
    }
}

extension Visit {
    /// What is said once, on the next page, travels in this cookie.
    private static let saidCookie = "penstock_said"
    /// A browser takes no cookie of more than 4096 bytes, and an escaped byte is three.
    private static let saidBytesMax = 1200

    /// Nothing of a page runs or is loaded but what this server gives; nothing inline does; no page is shown in another one.
    private static let policy =
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    /// The page that tells of a problem.
    func page(_ problem: Problem) -> Response {
        var page = page(
            "problem", problem.status.reasonPhrase, in: nil, status: problem.status,
            ["heading": problem.status.reasonPhrase, "detail": problem.detail])
        problem.describeWait(in: &page.headers)
        return page
    }

    /// A page of the site.
    func page(
        _ template: String, _ title: String, in section: Section?, following freshness: Freshness = .still,
        status: HTTPResponse.Status = .ok, _ fields: Fields
    ) -> Response {
        var fields = fields
        // A page that brings itself up to date shows no more than it did, and leaves what is said to the next one.
        let said =
            request.headers[.refresh] == nil
            ? request.cookies[Self.saidCookie].flatMap { $0.value.removingPercentEncoding } : nil
        fields["title"] = title
        fields["style"] = Assets.style.path
        fields["script"] = Assets.script.path
        if let name = site.name { fields["badge"] = name }
        if let said, !said.isEmpty { fields["said"] = said }
        if let move { fields["moved"] = "\(move.statement)." }
        // A visitor who may look at no queue is told of no change, and his page asks for none.
        if let mark = freshness.mark, principal.scopes.contains(.read) { fields["live"] = ["of": mark] }
        if context.isKnown {
            fields["navigation"] = Section.allCases.filter(mayRead).map { item -> Fields in
                ["title": item.title, "path": item.path, "isCurrent": item == section]
            }
            fields["visitor"] =
                ["name": principal.name, "mayLeave": site.tokens != nil] as Fields
        }
        fields["isKnown"] = context.isKnown
        fields["isReadOnly"] = site.isReadOnly
        fields["clock"] = Shown.time(now, now)
        var response = Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8", .contentSecurityPolicy: Self.policy],
            body: ResponseBody(byteBuffer: ByteBuffer(string: Templates.render(template, fields))))
        response.headers[.referrerPolicy] = "same-origin"
        if said != nil { response.setCookie(cookie(Self.saidCookie, "", seconds: 0)) }
        return response
    }

    /// Whether the visitor may look at that part: what would answer that he may not is not offered.
    private func mayRead(_ section: Section) -> Bool {
        switch section {
        case .overview, .dead, .messages, .workers, .schedules: true
        case .workflows, .doctor: mayRead(nil)
        case .audit: mayRead(Audit.queue)
        }
    }

    /// Leads to another page, as every act does, and says there what was done.
    func redirect(to path: String, saying text: String? = nil) -> Response {
        var response = Response(status: .seeOther, headers: [.location: path])
        if let text {
            response.setCookie(cookie(Self.saidCookie, URLText.escape(text.cut(to: Self.saidBytesMax)), seconds: 30))
        }
        return response
    }

    /// A cookie that no script sees, and that no other site's page has sent along. A visitor who came by TLS sends it by TLS alone.
    func cookie(_ name: String, _ value: String, seconds: Int?) -> Cookie {
        Cookie(
            name: name, value: value, maxAge: seconds, path: "/", secure: request.cameByTLS, httpOnly: true,
            sameSite: .strict)
    }
}

extension HTTPField.Name {
    /// What other sites learn of the page that led there.
    fileprivate static let referrerPolicy = HTTPField.Name(known: "Referrer-Policy")
    /// By which the script says that it asks for a page that is open already.
    fileprivate static let refresh = HTTPField.Name(known: "X-Penstock-Refresh")
}
