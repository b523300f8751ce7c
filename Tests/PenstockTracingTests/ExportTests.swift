import Foundation
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing
import Tracing

@testable import PenstockTracing

/// Spans on their way to a collector.
@Suite(.timeLimit(.minutes(5))) struct ExportTests {
    private let time = ManualTime()

    private func tracer(_ collector: TestCollector, _ change: (inout TracingConfiguration) -> Void = { _ in }) throws
        -> OTLPTracer
    {
        var configuration = try TracingConfiguration(collector: collector.endpoint + "/v1/traces", serviceName: "mill")
        change(&configuration)
        return OTLPTracer(configuration, time: time, random: SeededRandom(seed: 7))
    }

    private struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    @Test func aSpanArrivesWithAllThatIsKnownOfIt() async throws {
        let collector = try TestCollector()
        let tracer = try tracer(collector) { $0.collector.headers = ["X-Key": "k"] }
        let other = tracer.startSpan("other", context: .topLevel)
        tracer.withSpan("told", context: .topLevel) { $0.setStatus(SpanStatus(code: .error, message: "no")) }
        #expect(throws: Broken.self) {
            try tracer.withSpan("outer", context: .topLevel, ofKind: .producer) { outer in
                outer.attributes["text"] = "a\u{1}\"é"
                outer.attributes["count"] = 3
                outer.attributes["flag"] = true
                outer.attributes["share"] = 0.5
                outer.attributes["names"] = ["a", "b"]
                outer.addLink(SpanLink(context: other.context, attributes: [:]))
                try tracer.withSpan("inner") { _ in throw Broken(description: String(repeating: "é", count: 9000)) }
            }
        }
        await tracer.shutdown()
        let head = try #require(collector.received.first?.head)
        #expect(head.hasPrefix("POST /v1/traces HTTP/1.1\r\n"))
        #expect(head.contains("\r\nContent-Type: application/json\r\n") && head.contains("\r\nX-Key: k"))
        let spans = try collector.spans()
        #expect(spans.map(\.name) == ["told", "inner", "outer"], "What has not ended is not handed over.")
        let (inner, outer) = (spans[1], spans[2])
        #expect(outer.traceId.count == 32 && outer.spanId.count == 16 && outer.parentSpanId == nil)
        #expect(inner.traceId == outer.traceId && inner.parentSpanId == outer.spanId)
        #expect(outer.kind == 4 && inner.kind == 1)
        #expect(outer.value("text")?.stringValue == "a\u{1}\"é")
        #expect(outer.value("count")?.intValue == "3")
        #expect(outer.value("flag")?.boolValue == true)
        #expect(outer.value("share")?.doubleValue == 0.5)
        #expect(outer.value("names")?.arrayValue?.values.map(\.stringValue) == ["a", "b"])
        #expect(
            outer.links == [
                .init(
                    traceId: try #require(other.context.span).traceID.text,
                    spanId: try #require(other.context.span).spanID.text)
            ])
        #expect(spans[0].status == .init(code: 2, message: "no") && outer.status?.code == 2)
        #expect(outer.resource("service.name") == "mill")
        let event = try #require(inner.events?.first)
        #expect(event.name == "exception")
        let message = event.attributes.first { $0.key == "exception.message" }?.value.stringValue
        #expect(message?.utf8.count ?? 0 <= SpanRecord.textBytesMax && message?.hasSuffix("…") == true)
        let (start, end) = (try #require(UInt64(outer.startTimeUnixNano)), try #require(UInt64(outer.endTimeUnixNano)))
        #expect(start <= end && start > 1_700_000_000_000_000_000)
    }

    /// Nothing is posted for what is not recorded, and its context goes on all the same.
    @Test func whatIsNotRecordedIsFollowedAllTheSame() async throws {
        let collector = try TestCollector()
        let never = try Sampler(named: "always_off", argument: nil)
        let tracer = try tracer(collector) { $0.sampler = never }
        var headers: [String: String] = [:]
        tracer.withSpan("a") { span in
            #expect(!span.isRecording)
            span.attributes["a"] = "b"
            #expect(span.attributes.isEmpty)
            tracer.inject(span.context, into: &headers, using: HeaderCarrier())
        }
        #expect(headers["traceparent"]?.hasSuffix("-00") == true)
        await tracer.shutdown()
        #expect(collector.received.isEmpty)
    }

    /// Spans that end together go together; the next ones wait for their time.
    @Test func spansGoInBatches() async throws {
        let collector = try TestCollector()
        let tracer = try tracer(collector)
        for number in 1...3 { tracer.withSpan("early \(number)") { _ in } }
        try await time.waitForSleepers()
        #expect(collector.received.isEmpty)
        time.advance(by: .seconds(1))
        _ = await collector.requests(1)
        for number in 1...SpanQueue.batchMax { tracer.withSpan("late \(number)") { _ in } }
        // A full batch waits for no time.
        _ = await collector.requests(2)
        tracer.withSpan("hurried") { $0.recordError(Broken(description: "told by hand")) }
        tracer.forceFlush()
        _ = await collector.requests(3)
        #expect(try collector.spans().last?.events?.first?.name == "exception")
        tracer.withSpan("last") { _ in }
        await tracer.shutdown()
        #expect(collector.received.count == 4)
        #expect(try collector.spans().count == 5 + SpanQueue.batchMax)
        tracer.withSpan("too late") { _ in }
        await tracer.shutdown()
        #expect(collector.received.count == 4)
    }

    /// A collector that is busy is asked again; one that says no is not.
    @Test func whatMayPassIsTriedAgain() async throws {
        let collector = try TestCollector(answers: ["503 Busy", "429 Slow", "200 OK {}", "400 Bad", "200 OK {}"])
        let log = TestLog()
        let tracer = try tracer(collector) { $0.logger = log.logger }
        tracer.withSpan("a") { _ in }
        for count in 1...3 {
            try await time.waitForSleepers()
            time.advance(by: .seconds(2))
            _ = await collector.requests(count)
        }
        #expect(log.lines.isEmpty)
        tracer.withSpan("b") { _ in }
        try await time.waitForSleepers()
        time.advance(by: .seconds(1))
        _ = await collector.requests(4)
        tracer.withSpan("c") { _ in }
        await tracer.shutdown()
        #expect(collector.received.count == 5)
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains("1 span is lost") == true, "\(log.lines)")
    }

    /// A collector that is busy for long is asked less and less often. Spans that it does not take in the end are not lost in silence.
    @Test func whatDoesNotPassIsLostAndSaid() async throws {
        let collector = try TestCollector(answers: Array(repeating: "503 Busy", count: 5))
        let log = TestLog()
        let tracer = try tracer(collector) { $0.logger = log.logger }
        tracer.withSpan("a") { _ in }
        for (count, pause) in zip(1..., [1, 1, 2, 4, 8]) {
            try await time.waitForSleepers()
            #expect(time.nextDeadline == time.now + .seconds(pause), "before request \(count)")
            time.advance(by: .seconds(pause))
            _ = await collector.requests(count)
        }
        try await eventually { !log.lines.isEmpty }
        tracer.withSpan("b") { _ in }
        await tracer.shutdown()
        #expect(try collector.spans().map(\.name) == ["a", "a", "a", "a", "a", "b"])
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("1 span is lost"), "\(log.lines)")
    }

    /// It may keep the connection, though it is asked to close it: nobody waits for an end that does not come.
    @Test func anAnswerEndsWhereItSaysSo() async throws {
        let collector = try TestCollector(answers: [TestCollector.kept + "200 OK {}", TestCollector.kept + "503 Busy"])
        defer { collector.stop() }
        let address = try Collector(collector.endpoint + "/v1/traces")
        func answer() async throws -> CollectorAnswer {
            try await SystemThread.run { address.post([0x7B, 0x7D], timeout: .seconds(3600)) }
        }
        #expect(try await answer() == .taken(rejected: 0, reason: "it is too slow"))
        #expect(try await answer() == .mayPass("it answers with status 503"))
        func isWhole(_ text: String) -> Bool { Collector.isWhole(Array(text.utf8)) }
        #expect(isWhole("HTTP/1.1 200 OK\r\ncontent-length:  2\r\n\r\n{}"))
        for part in [
            "", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{",
            "HTTP/1.1 200 OK\r\n\r\n{}",
        ] {
            #expect(!isWhole(part), "\(part)")
        }
    }

    /// A queue that is full is no reason to ask a collector that is busy without a pause.
    @Test func aFullQueueDoesNotHurryACollectorThatIsBusy() async throws {
        let collector = try TestCollector(answers: ["503 Busy", "200 OK {}"])
        let log = TestLog()
        let tracer = try tracer(collector) { $0.logger = log.logger }
        for _ in 1...SpanQueue.batchMax { tracer.withSpan("a") { _ in } }
        _ = await collector.requests(1)
        for _ in 1...(SpanQueue.countMax + 5) { tracer.withSpan("b") { _ in } }
        tracer.forceFlush()
        try await time.waitForSleepers()
        #expect(collector.received.count == 1)
        time.advance(by: .seconds(1))
        _ = await collector.requests(6)
        await tracer.shutdown()
        #expect(try collector.spans().count == 2 * SpanQueue.batchMax + SpanQueue.countMax)
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("5 spans are lost"), "\(log.lines)")
    }

    /// One that is away costs spans and a line, and holds nobody up.
    @Test func aCollectorThatIsAwayCostsSpansAlone() async throws {
        let collector = try TestCollector()
        let port = collector.port
        collector.stop()
        let log = TestLog()
        var configuration = try TracingConfiguration(collector: "http://127.0.0.1:\(port)/", serviceName: "mill")
        configuration.logger = log.logger
        let tracer = OTLPTracer(configuration, time: time, random: SeededRandom(seed: 1))
        for _ in 1...(SpanQueue.countMax + SpanQueue.batchMax + 100) { tracer.withSpan("a") { _ in } }
        await tracer.shutdown()
        let lost = log.lines.compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +)
        #expect(lost == SpanQueue.countMax + SpanQueue.batchMax + 100, "\(log.lines)")
    }

    /// A collector may say anything of how many it has rejected.
    @Test func noMoreAreLostThanThereWere() async throws {
        let most = "{\"partialSuccess\":{\"rejectedSpans\":\"\(Int.max)\"}}"
        let collector = try TestCollector(answers: ["503 Busy", "200 OK \(most)"])
        let log = TestLog()
        let tracer = try tracer(collector) { $0.logger = log.logger }
        for _ in 1...SpanQueue.batchMax { tracer.withSpan("a") { _ in } }
        _ = await collector.requests(1)
        for _ in 1...(SpanQueue.countMax + 5) { tracer.withSpan("b") { _ in } }
        try await time.waitForSleepers()
        time.advance(by: .seconds(1))
        _ = await collector.requests(6)
        await tracer.shutdown()
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("517 spans are lost"), "\(log.lines)")
    }

    /// A collector that takes connections and says nothing holds up the end of a program for two seconds, however many spans there are.
    @Test func aCollectorThatHangsDoesNotHoldUpTheEnd() async throws {
        let collector = try TestCollector(answers: [TestCollector.silence])
        let log = TestLog()
        let tracer = try tracer(collector) {
            $0.logger = log.logger
            $0.timeout = .seconds(600)
        }
        for _ in 1...(3 * SpanQueue.batchMax) { tracer.withSpan("a") { _ in } }
        _ = await collector.requests(1)
        let ending = Task { await tracer.shutdown() }
        try await time.waitForSleepers()
        time.advance(by: .seconds(2))
        await ending.value
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("1536 spans are lost"), "\(log.lines)")
        collector.stop()
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n{}", CollectorAnswer.taken(rejected: 0, reason: "it is too slow")),
        (
            "HTTP/1.1 200 OK\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}",
            .taken(rejected: 3, reason: "it rejected them")
        ),
        ("HTTP/1.0 202 Accepted\r\n\r\n", .taken(rejected: 0, reason: "it is too slow")),
        ("HTTP/1.1 413 Large\r\n\r\n", .refused("it answers with status 413")),
        ("HTTP/1.1 502 Bad\r\n\r\n", .mayPass("it answers with status 502")),
        ("", .mayPass("it did not answer in time")), ("SSH-2.0-x\r\n", .mayPass("it did not answer in time")),
    ])
    func answersAreUnderstood(_ text: String, _ answer: CollectorAnswer) {
        #expect(Collector.answer(Array(text.utf8)) == answer)
    }
}
