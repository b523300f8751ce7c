package import HTTPTypes
package import Hummingbird
import NIOCore
import NIOHTTP1
package import PenstockCore
package import PenstockFormats

/// Why a request is not done, as RFC 9457 writes it: `application/problem+json`.
///
/// `code` is what programs switch over: a code of `PenstockError`, or one of the server's own; `detail` is one sentence for people.
package struct Problem: Error, HTTPResponseError, Sendable {
    package var status: HTTPResponse.Status
    package var code: String
    package var detail: String
    /// How many seconds to wait before the same request is made again.
    package var retryAfterSeconds: Int?

    package init(_ status: HTTPResponse.Status, code: String, _ detail: String, retryAfterSeconds: Int? = nil) {
        self.status = status
        self.code = code
        self.detail = detail
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// What `error` is to those for whom `advice` is. A client that is Penstock's own throws it where a command may say it.
    package init(_ error: PenstockError, advice: Advice = .http) {
        let error = error.toldToClients
        let status = Self.status(of: error.code)
        self.init(
            status, code: error.code.rawValue, advice.instead(of: error.message),
            retryAfterSeconds: status == .serviceUnavailable || status == .tooManyRequests ? 1 : nil)
    }

    /// What is said of a path that there is not.
    package static let unknownPath =
        "There is no such path here; /openapi.json names those of the API, and / is the dashboard."

    /// That no token was shown that is one.
    package static let unauthorized = Problem(
        .unauthorized, code: "unauthorized", "Show a token of this server, in the header `Authorization: Bearer TOKEN`."
    )

    /// That a parameter, or the body, is none.
    package static func invalid(_ detail: String) -> Problem {
        Problem(.badRequest, code: PenstockError.Code.invalidInput.rawValue, detail)
    }

    /// That whoever makes the request may not do that.
    package static func forbidden(_ detail: String) -> Problem {
        Problem(.forbidden, code: PenstockError.Code.forbidden.rawValue, detail)
    }

    /// That the client has closed its connection. Nobody reads it, and it is no failure of the server's.
    package static func clientGone(_ detail: String) -> Problem {
        Problem(HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request"), code: "clientGone", detail)
    }

    /// What any error is to somebody who speaks HTTP; `nil` when it is not one that a request may meet.
    package init?(known error: any Error, advice: Advice = .http) {
        switch error {
        case let problem as Problem: self = problem
        case let error as PenstockError: self.init(error, advice: advice)
        case is CancellationError:
            self.init(
                .serviceUnavailable, code: "closed", "The server is about to stop; ask again.", retryAfterSeconds: 1)
        case is IOError, is ChannelError: self = .clientGone("The connection has ended.")
        case let error as HTTPParserError where error == .headerOverflow:
            self.init(
                .requestHeaderFieldsTooLarge, code: Self.code(of: .contentTooLarge),
                "The headers of this request are too large, or too many.")
        case is HTTPParserError: self = .invalid("This is no request as RFC 9112 has it.")
        // The router's: a route that finds nothing says what.
        case let error as HTTPError where error.status == .notFound && error.body == nil:
            self.init(.notFound, code: Self.code(of: .notFound), Self.unknownPath)
        case let error as HTTPError:
            self.init(error.status, code: Self.code(of: error.status), error.body ?? error.status.reasonPhrase)
        default: return nil
        }
    }

    package func response(from request: Request, context: some RequestContext) -> Response { response }

    /// The problem as JSON.
    package var json: JSONValue {
        .object([
            "type": .string("about:blank"), "title": .string(status.reasonPhrase), "status": .integer(status.code),
            "code": .string(code), "detail": .string(detail),
        ])
    }

    /// The problem as a response.
    package var response: Response {
        var response = Response.json(json, status: status)
        describe(in: &response.headers)
        return response
    }

    /// Sets the headers of the problem's response.
    package func describe(in fields: inout HTTPFields) {
        fields[.contentType] = "application/problem+json"
        describeWait(in: &fields)
    }

    /// Sets the header that says when to ask again, where that is known; for responses that are no JSON.
    package func describeWait(in fields: inout HTTPFields) {
        if let retryAfterSeconds { fields[.retryAfter] = String(retryAfterSeconds) }
    }

    /// The status of an error's code. The status tells the client whether it, or the server, is to do something; the code says what has happened.
    private static func status(of code: PenstockError.Code) -> HTTPResponse.Status {
        switch code {
        case .invalidInput, .undecodable: .badRequest
        case .unknownQueue, .unknownMessage, .unknownCursor, .unknownSchedule, .unknownLimit, .unknownWorkflow,
            .unknownTask,
            .notFound:
            .notFound
        case .queueExists, .scheduleExists, .fileExists, .policyChanged, .selectionChanged, .illegalTransition,
            .queueDeleting, .storeMoved, .leaseLost,
            .messageDead, .messageCancelled, .messageDropped:
            .conflict
        case .queueFull: .tooManyRequests
        case .readOnly, .forbidden: .forbidden
        case .diskFull: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        case .timedOut, .busy, .closed, .unreachable: .serviceUnavailable
        // The store was asked and has not answered: whether it will do the call is not known.
        case .outcomeUnknown: .gatewayTimeout
        default: .internalServerError
        }
    }

    private static func code(of status: HTTPResponse.Status) -> String {
        switch status {
        case .notFound: "notFound"
        case .contentTooLarge: "tooLarge"
        case .methodNotAllowed: "methodNotAllowed"
        default: status.kind == .serverError ? "internal" : "invalidInput"
        }
    }
}

extension Problem: CustomStringConvertible {
    /// The sentence for people: a decoder in which it is thrown says it of the whole.
    package var description: String { detail }
}

extension PenstockError {
    /// The error of a server's store as the server's clients are told of it, in whatever protocol. What its store does not allow the server is
    /// no matter of a client's, which would look at its own token, and end: to a client the store is away.
    package var toldToClients: PenstockError {
        guard code == .forbidden else { return self }
        var error = self
        error.code = .unreachable
        return error
    }
}
