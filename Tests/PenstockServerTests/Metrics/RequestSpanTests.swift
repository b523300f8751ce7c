import InMemoryTracing
import Penstock
import PenstockCore
import PenstockTestKit
import Testing
import Tracing

/// Spans around requests, by OpenTelemetry's conventions.
@Suite(.timeLimit(.minutes(5))) struct RequestSpanTests {
    @Test func aRequestIsAPartOfItsClientsSpan() async throws {
        let tracer = InMemoryTracer()
        let client = tracer.startSpan("client", context: .topLevel)
        var headers: [String: String] = [:]
        tracer.inject(client.context, into: &headers, using: HeaderInjector())
        try await TestServer.run(tracer: tracer) { [headers] server in
            _ = try await server.store.queue("q", policy: .init())
            _ = try await server.request("POST", "/v1/queues/q/messages?wait=0s", headers: headers)
            _ = try await server.request("GET", "/v1/queues/secret")
            _ = try await server.request("PROPFIND", "/nowhere/secret")
        }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["POST /v1/queues/{queue}/messages", "GET /v1/queues/{queue}", "other"])
        #expect(spans.allSatisfy { $0.kind == .server })
        #expect(spans[0].parentSpanID == client.spanID && spans[1].parentSpanID == nil)
        for (span, code) in zip(spans, [201, 404, 404]) {
            #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(Int64(code)))
            #expect(!"\(span.attributes)".contains("secret"), "What clients name is in no span.")
        }
    }
}

private struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout [String: String]) { headers[key] = value }
}
