import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// One request for a page, or for an act on one.
struct Visit: Sendable {
    let site: Site
    let request: Request
    let context: ServerContext
    /// What every page says in front: that the queues are, or will be, another store's.
    var move: StoreMove?

    /// Bytes that a form has at most: a payload that somebody types, three times as long when it is escaped.
    static let formBytesMax = 4 * 1024 * 1024

    var now: Timestamp { site.now }
    var principal: Principal { context.principal }

    /// Whether he may look at the queue; `nil`: at what belongs to no one queue.
    func mayRead(_ queue: QueueName?) -> Bool { principal.may(.read, queue) }

    /// Whether he may do that here. What may not be done is not shown either.
    func mayAct(_ scope: PenstockHTTP.Scope, _ queue: QueueName?) -> Bool {
        !site.isReadOnly && principal.may(scope, queue)
    }

    /// What stands behind the question mark.
    func query(_ known: Set<String>) throws(Problem) -> QueryParameters {
        try QueryParameters(form: request.uri.query ?? "", known: known)
    }

    /// What a form has sent.
    ///
    /// - Parameter bytesMax: more is refused before it is read.
    func form(_ known: Set<String>, bytesMax: Int = formBytesMax) async throws -> QueryParameters {
        let type = request.headers[.contentType] ?? ""
        guard type.lowercased().hasPrefix("application/x-www-form-urlencoded") else {
            throw Problem(.unsupportedMediaType, code: "invalidInput", "Acts are asked for by the forms of the pages.")
        }
        let body = try await request.wholeBody(bytesMax: bytesMax)
        guard let text = String(validating: body.readableBytesView, as: UTF8.self) else {
            throw Problem.invalid("A form is text.")
        }
        return try QueryParameters(form: text, known: known)
    }

    /// The queue that the path names, at which he may look.
    func queue() throws(Problem) -> QueueName { try context.queue(for: .read) }
}
