import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    @Test func theStoreTheServerAndItsProcessAreThere() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("a \"b\"", policy: QueuePolicy(capacity: Capacity(9, whenFull: .fail)))
        try await queue.enqueue(contentsOf: [[1], [2]])
        try await TestServer.run(store: store) { server in
            _ = try await server.request("GET", "/v1/queues/none")
            _ = try await server.request("GET", "/nowhere")
            let response = try await server.request("GET", "/metrics")
            #expect(response.status == 200)
            #expect(response.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            let text = response.text
            #expect(text.hasSuffix("\n"))
            let lines = text.split(separator: "\n")
            #expect(lines.contains(#"penstock_queue_messages{queue="a \"b\"",state="ready"} 2"#))
            #expect(lines.contains(#"penstock_queue_capacity{queue="a \"b\""} 9"#))
            #expect(lines.contains(#"penstock_messages_enqueued_total{queue="a \"b\""} 2"#))
            let name = "penstock_http_request_duration_seconds_count"
            #expect(lines.contains(#"\#(name){method="GET",route="/v1/queues/{queue}",code="404"} 1"#))
            #expect(lines.contains(#"\#(name){method="GET",route="none",code="404"} 1"#))
            for name in ["penstock_store_flush_seconds_count", "penstock_store_writer_lock_wait_seconds_count"] {
                // A store in memory waits for nobody.
                #expect(lines.contains { TestDatabase.isElsewhere ? $0.hasPrefix("\(name) ") : $0 == "\(name) 0" })
            }
            #expect(lines.contains { $0.hasPrefix("process_cpu_seconds_total ") })
            #expect(lines.contains { $0.hasPrefix("penstock_build_info{version=\"") })
            // Families stand together, each with its kind.
            let types = lines.filter { $0.hasPrefix("# TYPE ") }
            #expect(Set(types).count == types.count)
        }
    }

    @Test func onlyThoseWhoMayLookAtTheWholeStoreSeeThem() async throws {
        let key = "0123456789abcdef"
        let tokens = try Tokens("all \(key)-1 read\nsome \(key)-2 read mail\nmaker \(key)-3 produce")
        try await TestServer.run(tokens: tokens) { server in
            for (number, status) in [(1, 200), (2, 403), (3, 403), (4, 401)] {
                let response = try await server.request(
                    "GET", "/metrics", headers: ["Authorization": "Bearer \(key)-\(number)"])
                #expect(response.status == status, "\(number)")
            }
        }
    }

    /// Otherwise whoever invents methods makes series.
    @Test func methodsThatNobodyKnowsAreOne() async throws {
        try await TestServer.run { server in
            _ = try await server.request("PURGE", "/metrics")
            let text = try await server.request("GET", "/metrics").text
            #expect(text.contains(#"method="other",route="/metrics""#))
            #expect(!text.contains("PURGE"))
        }
    }
}
