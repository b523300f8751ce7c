import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCLI
import PenstockCore
import PenstockHTTP
import PenstockMetrics

/// `/metrics`: the numbers of the store, of this server's requests and of its process, for Prometheus.
///
/// It names every queue, so it is for those who may look at the whole store. Prometheus shows a token like any other client.
struct Metrics {
    let store: PenstockStore
    /// The store's file; `nil`: it is not one that has a size.
    let file: String?
    let requests: RequestTimes

    func add(to router: Router<ServerContext>) {
        router.get("metrics") { request, context in
            try request.refuseParameters()
            try context.principal.require(.read, nil)
            return try await Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: text().bytes)))
        }
    }

    /// What the store says is of one moment, and costs as much as there are queues, however many messages they hold.
    private func text() async throws -> PrometheusText {
        var text = PrometheusText()
        text.add(version: Version.text)
        text.add(try await store.storage.status(of: nil))
        text.add(store.storage.timings)
        if let file { text.add(fileAt: file) }
        requests.metrics.write(to: &text)
        text.add(ProcessFacts.now())
        return text
    }
}
