import InMemoryTracing
import Penstock
import PenstockCore
import PenstockTestKit
import Testing
import Tracing

/// Spans around messages, by OpenTelemetry's conventions.
@Suite(.timeLimit(.minutes(5))) struct TracingTests {
    let tracer = InMemoryTracer()
    let the: Fixture

    init() {
        the = Fixture(options: .init(tracer: tracer))
    }

    private func span(_ name: String) throws -> FinishedInMemorySpan {
        try #require(tracer.finishedSpans.last { $0.operationName == name })
    }

    private func headers(_ sequence: SequenceNumber) async throws -> [String: String] {
        try await the.store.message(sequence).headers
    }

    @Test func oneMessageIsFollowedFromItsEnqueueToItsHandler() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await tracer.withSpan("request") { _ in try await queue.enqueue(1) }
        let (request, send) = (try span("request"), try span("send q"))
        #expect(send.kind == .producer)
        #expect(send.traceID == request.traceID)
        #expect(send.parentSpanID == request.spanID)
        #expect(
            try await headers(receipt.sequence) == [
                InMemoryTracer.traceIDKey: send.traceID, InMemoryTracer.spanIDKey: send.spanID,
            ])

        try await Worker(queue, options: .init(drain: true)) { [tracer] _ in
            tracer.withSpan("within the handler") { _ in }
        }.run()
        let (process, within) = (try span("process q"), try span("within the handler"))
        #expect(process.kind == .consumer)
        // A trace of its own, with a link to where the message came from.
        #expect(process.traceID != send.traceID)
        #expect(process.parentSpanID == nil)
        #expect(process.links.map { $0.context.inMemorySpanContext?.spanID } == [send.spanID])
        #expect(within.parentSpanID == process.spanID)
        for (span, operation) in [(send, "send"), (process, "process")] {
            #expect(span.attributes["messaging.system"]?.toSpanAttribute() == .string("penstock"))
            #expect(span.attributes["messaging.operation.name"]?.toSpanAttribute() == .string(operation))
            #expect(span.attributes["messaging.operation.type"]?.toSpanAttribute() == .string(operation))
            #expect(span.attributes["messaging.destination.name"]?.toSpanAttribute() == .string("q"))
            #expect(span.attributes["messaging.message.id"]?.toSpanAttribute() == .string("\(receipt.sequence)"))
        }
    }

    @Test func aBatchIsOneSpan() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        #expect(tracer.finishedSpans.count == 1)
        let send = try span("send q")
        #expect(send.attributes["messaging.batch.message_count"]?.toSpanAttribute() == .int64(3))
        for receipt in receipts {
            #expect(try await headers(receipt.sequence)[InMemoryTracer.spanIDKey] == send.spanID)
        }
    }

    /// A message that was given a trace keeps it, whatever the case of the name.
    @Test func whatAMessageCarriesAlreadyStays() async throws {
        let queue = try await the.queue(policy: .exact)
        let own = ["In-Memory-Trace-ID": "mine", "a": "b"]
        let receipt = try await queue.enqueue(1, options: .init(headers: own))
        #expect(try await headers(receipt.sequence) == own)
    }

    /// That somebody traces is no reason to refuse a message.
    @Test func aMessageThatHasNoRoomGoesWithout() async throws {
        let queue = try await the.queue(policy: .exact)
        let full = Dictionary(uniqueKeysWithValues: (0..<Limits.headerCountMax).map { ("h\($0)", "v") })
        let receipt = try await queue.enqueue(1, options: .init(headers: full))
        #expect(try await headers(receipt.sequence) == full)
    }

    @Test func errorsAreTheSpans() async throws {
        let queue = try await the.queue(policy: .holding(1, .fail))
        try await queue.enqueue(1)
        await #expect(throws: PenstockError.self) { try await queue.enqueue(2) }
        let send = try span("send q")
        #expect(send.attributes["error.type"]?.toSpanAttribute() == .string("queueFull"))
        #expect(send.status?.code == .error)

        try await Worker(queue, options: .init(max: 1)) { _ in throw Reject("no") }.run()
        let process = try span("process q")
        #expect(process.attributes["error.type"]?.toSpanAttribute() == .string("Reject"))
        #expect(process.errors.count == 1)
    }

    /// Work that waits has not failed, and its attempt does not count.
    @Test func aWaitIsNoErrorOfASpan() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { delivery in
            try await delivery.sleep("rest", for: .seconds(3600))
        }.run()
        #expect(try await the.store.list(MessageQuery(queue: QueueName("q"))).map(\.state) == [.scheduled])
        let process = try span("process q")
        #expect(process.attributes["error.type"] == nil && process.errors.isEmpty)
        #expect(process.status?.code != .error)
    }

    /// Nobody has asked the handler to end, and its attempt counts.
    @Test func aCancellationOfItsOwnIsAnErrorOfASpan() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(1)
        try await Worker(queue, options: .init(max: 1)) { _ in throw CancellationError() }.run()
        let process = try span("process q")
        #expect(process.attributes["error.type"] != nil && process.errors.count == 1)
    }

    @Test func whatFollowsAMessageIsInItsTrace() async throws {
        let queue = try await the.queue(policy: .exact)
        let next = try await the.store.queue("next", of: Int.self)
        try await queue.enqueue(1)
        try await Worker(queue, options: .init(drain: true)) { delivery in
            try await delivery.done(then: [next.draft(2)])
        }.run()
        let process = try span("process q")
        let record = try #require(try await the.store.list(MessageQuery(queue: QueueName("next"))).first)
        #expect(record.headers[InMemoryTracer.spanIDKey] == process.spanID)
    }

    @Test func withoutATracerNothingIsAdded() async throws {
        let plain = Fixture()
        let queue = try await plain.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        #expect(try await plain.store.message(receipt.sequence).headers.isEmpty)
    }
}
