import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/queues/{queue}/messages`: messages on their way in, one as the body or many as lines.
struct Enqueuing: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("queues/:queue/messages", use: enqueue)
    }

    @Sendable private func enqueue(_ request: Request, _ context: ServerContext) async throws -> Response {
        let queue = try context.queue(for: .produce)
        let parameters = try QueryParameters(request, known: ["wait"])
        let wait = try parameters.duration("wait", in: Bounds.waitRange) ?? .zero
        var head = try MessageHead(request.headers, context.principal, now: time.now)
        let offer = Offer(
            store: store, queue: queue, durability: head.durability, context: context,
            patience: Patience(wait, time))
        if Self.isBatch(request) {
            try head.refuseMessageOptions()
            return try await MessageBatch(offer: offer, idempotencyKey: head.idempotencyKey).enqueue(request)
        }
        let body = try await request.wholeBody(bytesMax: Limits.payloadBytesMax)
        head.message.payload = Array(body.readableBytesView)
        guard var receipt = try await offer.enqueue([head.message]).receipts.first else {
            throw Problem.queueFull(queue)
        }
        guard head.idempotencyKey != nil, receipt.skipped else {
            return .json(receipt.json(queue: queue), status: receipt.skipped ? .ok : .created)
        }
        guard try await IdempotencyKey.reused([head.message], as: [receipt], in: store).isEmpty else {
            throw IdempotencyKey.reused
        }
        receipt.skipped = false
        var response = Response.json(receipt.json(queue: queue), status: .created)
        response.headers[.idempotentReplayed] = "true"
        return response
    }

    static func isBatch(_ request: Request) -> Bool {
        request.headers[.contentType].map { type in
            ["application/x-ndjson", "application/ndjson"].contains(type.typeName)
        } ?? false
    }
}

extension MessageHead {
    /// Throws when the headers say anything of a message that each line of a batch says for itself.
    fileprivate mutating func refuseMessageOptions() throws(Problem) {
        message.headers["content-type"] = nil
        message.uniqueKey = idempotencyKey == nil ? message.uniqueKey : nil
        // A trace is of the request, and so of all lines, which have none of their own; so is the rest of what goes with it.
        for name in ["traceparent", "tracestate", "baggage"] { message.headers[name] = nil }
        guard message == NewMessage(payload: []) else {
            throw Problem.invalid(
                "In a body of lines each message has its options as members of its line; the headers say only "
                    + "Penstock-Durability and Idempotency-Key.")
        }
    }
}

extension HTTPField.Name {
    /// That an answer is the one of an earlier request with the same `Idempotency-Key`.
    static let idempotentReplayed = HTTPField.Name(known: "Idempotent-Replayed")
}
