import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// One message from its enqueue to its handler, over real processes, as a collector sees it.
@Suite(.timeLimit(.minutes(5))) struct ProcessTests {
    private let folder = TemporaryFolder()
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"

    @Test func aMessageIsFollowedOverProcesses() async throws {
        let collector = try TestCollector()
        defer { collector.stop() }
        let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SERVICE_NAME": "mill"]
        for queue in ["q", "next"] { _ = try await run(["queue", "create", queue], [:]) }
        // Somebody whose span is under way enqueues; the command of that message enqueues another one.
        _ = try await run(
            ["enqueue", "q", "hello"],
            variables.merging(["TRACEPARENT": "00-\(Self.trace)-\(Self.parent)-01"]) { $1 })
        let shown = try await run(
            [
                "work", "q", "--drain", "--", "sh", "-c",
                "echo $TRACEPARENT; exec \(BuiltPrograms.path("penstock")) enqueue next more >&2",
            ],
            variables)
        _ = try await run(["work", "next", "--drain", "--", "sh", "-c", "exit 65"], variables)

        let spans = try collector.spans()
        func span(_ name: String) throws -> CollectedSpan {
            try #require(spans.first { $0.name == name }, "\(spans.map(\.name))")
        }
        #expect(spans.count == 4)
        let (send, process) = (try span("send q"), try span("process q"))
        #expect(send.traceId == Self.trace && send.parentSpanId == Self.parent && send.kind == 4)
        #expect(send.resource("service.name") == "mill" && send.value("messaging.message.id")?.stringValue == "1")
        #expect(process.kind == 5 && process.parentSpanId == nil && process.traceId != send.traceId)
        #expect(process.links == [.init(traceId: send.traceId, spanId: send.spanId)])
        #expect(shown == "00-\(process.traceId)-\(process.spanId)-01\n")
        let (sendNext, processNext) = (try span("send next"), try span("process next"))
        #expect(sendNext.traceId == process.traceId && sendNext.parentSpanId == process.spanId)
        #expect(processNext.links == [.init(traceId: sendNext.traceId, spanId: sendNext.spanId)])
        #expect(processNext.status?.code == 2)
    }

    /// What is wrong with the traces is said, and the work is done.
    @Test(arguments: [
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector"], "There are no traces: Spans are handed over by http://"),
        (
            ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"],
            "1 span is lost, as the collector at http://127.0.0.1:1/v1/traces"
        ),
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"], ""),
    ])
    func aMessageNeedsNoCollector(_ variables: [String: String], _ said: String) async throws {
        _ = try await run(["queue", "create", "q"], [:])
        let end = try await end(["enqueue", "q", "hello"], variables)
        #expect(end.isSuccess && end.output == "1\n")
        #expect(said.isEmpty ? end.errors == "" : end.errors.contains(said), "\(end.errors)")
        #expect(end.errors.split(separator: "\n").count <= 1)
    }

    private func run(_ arguments: [String], _ variables: [String: String]) async throws -> String {
        let end = try await end(arguments, variables)
        #expect(end.isSuccess, "\(arguments): \(end.errors)")
        return end.output
    }

    private func end(
        _ arguments: [String], _ variables: [String: String]
    ) async throws -> (isSuccess: Bool, output: String, errors: String) {
        let own = ["PENSTOCK_DB": folder.file("queue.db")].merging(variables) { $1 }
        let end = try await Subprocess.run(
            .path(FilePath(BuiltPrograms.path("penstock"))), arguments: Arguments(arguments),
            environment: .inherit.updating(
                Dictionary(uniqueKeysWithValues: own.map { (Environment.Key(stringLiteral: $0), $1) })),
            output: .string(limit: 65_536), error: .string(limit: 65_536))
        return (end.terminationStatus.isSuccess, end.standardOutput, end.standardError)
    }
}
