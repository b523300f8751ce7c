internal import PenstockCore
internal import Tracing

/// The spans of messages, as OpenTelemetry has them for messaging: `send q` around an enqueue and `process q` around a handler.
///
/// A message carries the context of its `send` in its headers, under the names that the tracer's propagator has for it, such as
/// `traceparent`. Its `process` is a trace of its own with a link to that, as it may run days later, and more than once.
struct MessageTracing: Sendable {
    private let tracer: any Tracer

    /// `nil` when nobody traces: then nothing is done for a message, and nothing is allocated.
    ///
    /// - Parameter tracer: `nil`: the one that the program bootstrapped before.
    init?(_ tracer: (any Tracer)?) {
        let tracer = tracer ?? InstrumentationSystem.tracer
        if tracer is NoOpTracer { return nil }
        self.tracer = tracer
    }

    /// Has `body` put messages in line, within a span.
    func send(
        _ messages: [NewMessage], to queue: QueueName, _ body: ([NewMessage]) async throws -> [Receipt]
    ) async throws -> [Receipt] {
        try await Self.send(tracer, messages, to: queue, body)
    }

    /// Has `body` put messages in line within a transaction, and within a span.
    func send(
        _ messages: [NewMessage], to queue: QueueName, _ body: ([NewMessage]) throws -> [Receipt]
    ) throws -> [Receipt] {
        try Self.send(tracer, messages, to: queue, body)
    }

    /// Has `body` work on a message, within a span. What it throws is an error of the span; what it returns has stopped the work as
    /// well, and is none: it is thrown when the span has ended.
    func process(
        _ message: ClaimedMessage, of queue: QueueName, _ body: () async throws -> (any Error)?
    ) async throws {
        try await Self.process(tracer, message, of: queue, body)
    }

    /// `headers` with the context of the present task, for a message that goes in line with a verdict.
    func carried(_ headers: [String: String]) -> [String: String] {
        guard let context = ServiceContext.current else { return headers }
        return Self.adding(Self.carrier(tracer, context), to: headers)
    }
}

// What a tracer's spans are is known once it is opened.
extension MessageTracing {
    private static func send<Used: Tracer>(
        _ tracer: Used, _ messages: [NewMessage], to queue: QueueName,
        _ body: ([NewMessage]) async throws -> [Receipt]
    ) async throws -> [Receipt] {
        try await tracer.withSpan("send \(queue)", ofKind: .producer) { span in
            begin(span, "send", queue)
            let messages = carrying(carrier(tracer, span.context), messages)
            return try await end(span, Result.of { try await body(messages) })
        }
    }

    private static func send<Used: Tracer>(
        _ tracer: Used, _ messages: [NewMessage], to queue: QueueName, _ body: ([NewMessage]) throws -> [Receipt]
    ) throws -> [Receipt] {
        try tracer.withSpan("send \(queue)", ofKind: .producer) { span in
            begin(span, "send", queue)
            let messages = carrying(carrier(tracer, span.context), messages)
            return try end(span, Result { try body(messages) })
        }
    }

    private static func process<Used: Tracer>(
        _ tracer: Used, _ message: ClaimedMessage, of queue: QueueName, _ body: () async throws -> (any Error)?
    ) async throws {
        var creation = ServiceContext.topLevel
        tracer.extract(message.headers, into: &creation, using: HeaderCarrier())
        let stop = try await tracer.withSpan("process \(queue)", context: .topLevel, ofKind: .consumer) { span in
            begin(span, "process", queue)
            span.attributes["messaging.message.id"] = message.lease.sequence.description
            if !creation.isEmpty { span.addLink(SpanLink(context: creation, attributes: [:])) }
            do {
                return try await body()
            } catch {
                fail(span, error)
                throw error
            }
        }
        if let stop { throw stop }
    }

    private static func begin(_ span: some Span, _ operation: String, _ queue: QueueName) {
        span.attributes["messaging.system"] = "penstock"
        span.attributes["messaging.operation.name"] = operation
        span.attributes["messaging.operation.type"] = operation
        span.attributes["messaging.destination.name"] = queue.text
    }

    private static func end(_ span: some Span, _ sent: Result<[Receipt], any Error>) throws -> [Receipt] {
        switch sent {
        case .success(let receipts) where receipts.count == 1:
            span.attributes["messaging.message.id"] = receipts[0].sequence.description
        case .success(let receipts):
            span.attributes["messaging.batch.message_count"] = receipts.count
        case .failure(let error):
            fail(span, error)
        }
        return try sent.get()
    }

    /// The span itself notes the error as it ends.
    private static func fail(_ span: some Span, _ error: any Error) {
        span.attributes["error.type"] = (error as? PenstockError)?.code.rawValue ?? "\(type(of: error))"
        span.setStatus(SpanStatus(code: .error))
    }

    private static func carrier(_ tracer: some Tracer, _ context: ServiceContext) -> [String: String] {
        var carrier: [String: String] = [:]
        tracer.inject(context, into: &carrier, using: HeaderCarrier())
        return carrier
    }

    private static func carrying(_ carrier: [String: String], _ messages: [NewMessage]) -> [NewMessage] {
        if carrier.isEmpty { return messages }
        return messages.map { message in
            var message = message
            message.headers = adding(carrier, to: message.headers)
            return message
        }
    }

    /// A message that was given a trace by its program keeps it.
    private static func adding(_ carrier: [String: String], to headers: [String: String]) -> [String: String] {
        let names = Set(headers.keys.map { $0.lowercased() })
        guard carrier.keys.allSatisfy({ !names.contains($0.lowercased()) }) else { return headers }
        let all = headers.merging(carrier) { own, _ in own }
        // That somebody traces is no reason for a message to be refused.
        return (try? HeaderRules.validate(all)) == nil ? headers : all
    }
}

private struct HeaderCarrier: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into headers: inout [String: String]) {
        headers[key] = value
    }

    func extract(key: String, from headers: [String: String]) -> String? {
        headers[key] ?? headers.first { $0.key.lowercased() == key.lowercased() }?.value
    }
}
