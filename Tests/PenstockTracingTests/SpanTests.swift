import Foundation
import PenstockTestKit
import Synchronization
import Testing
import Tracing

@testable import PenstockTracing

/// A span while it is under way, and as it ends.
@Suite struct SpanTests {
    /// The spans that have ended.
    private final class Ended: Sendable {
        private let kept = Mutex<[SpanRecord]>([])

        var records: [SpanRecord] { kept.withLock { $0 } }
        func add(_ record: SpanRecord) { kept.withLock { $0.append(record) } }
    }

    private let ended = Ended()
    private let identity = SpanIdentity(
        traceID: TraceID(high: 1, low: 2), spanID: SpanID(number: 3), isSampled: true, state: "rojo=00f067")

    private func moment(_ nanoseconds: UInt64) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: nanoseconds)
    }

    /// One that begins 500 nanoseconds after 1970.
    private func span() -> OTLPSpan {
        OTLPSpan(SpanRecord(identity: identity, name: "it", kind: .internal, start: 500), context: .topLevel) {
            [ended] in ended.add($0)
        }
    }

    /// As a collector reads what was handed over.
    private func collected() throws -> [CollectedSpan] {
        let body = SpanJSON(resource: []).body(of: ended.records)
        return try JSONDecoder().decode(CollectedRequest.self, from: Data(body)).spans
    }

    /// A handler may end the span that its caller ends as well.
    @Test func itEndsOnce() {
        let span = span()
        span.attributes["before"] = 1
        span.end(at: moment(700))
        span.attributes["after"] = 2
        span.operationName = "other"
        span.addEvent(SpanEvent(name: "late"))
        span.setStatus(SpanStatus(code: .error))
        span.end(at: moment(900))
        #expect(ended.records.map(\.end) == [700])
        #expect(span.operationName == "it" && span.attributes.count == 1)
    }

    /// The machine's clock may be set back meanwhile, and no collector knows spans that lasted less than no time.
    @Test func itDoesNotEndBeforeItBegan() {
        span().end(at: moment(499))
        #expect(ended.records.map(\.end) == [500])
    }

    /// What a handler says in a loop fills neither the memory nor the collector.
    @Test func whatIsKeptOfItHasABound() throws {
        let span = span()
        for number in 0..<200 {
            span.addEvent(SpanEvent(name: "\(number)"))
            span.addLink(SpanLink(context: .topLevel, attributes: [:]))
            span.attributes["\(number)"] = "x"
        }
        span.end(at: moment(900))
        let record = try #require(ended.records.first)
        #expect(record.events.map(\.name) == (0..<SpanRecord.partsMax).map(String.init))
        #expect(record.links.count == SpanRecord.partsMax)
        #expect(try collected().first?.attributes?.count == SpanRecord.partsMax)
    }

    /// Trace Context asks that it go on with the trace.
    @Test func whatOtherTracersCarryGoesOnInEachSpan() throws {
        let configuration = try TracingConfiguration(collector: "http://127.0.0.1:1/", serviceName: "mill")
        let tracer = OTLPTracer(configuration, time: ManualTime(), random: SeededRandom(seed: 1))
        var context = ServiceContext.topLevel
        context.span = identity
        context.baggage = "a=b"
        let span = tracer.startSpan("it", context: context)
        var headers: [String: String] = [:]
        tracer.inject(span.context, into: &headers, using: HeaderCarrier())
        #expect(headers["traceparent"]?.hasPrefix("00-\(identity.traceID.text)-") == true)
        #expect(headers["tracestate"] == "rojo=00f067")
        #expect(headers["baggage"] == "a=b")
    }

    @Test func aCollectorReadsItAsWell() throws {
        span().end(at: moment(900))
        #expect(try collected().map(\.traceState) == ["rojo=00f067"])
    }
}
