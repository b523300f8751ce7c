import Penstock
import PenstockClient

// The landing page of PenstockClient.

struct ClientArticle {
    func send(_ mail: Mail) async throws {}

    // shown
    func work(at url: String, token: String) async throws {
        let store = try await PenstockStore.open(url: url, token: token)
        let mails = try await store.queue("mails", of: Mail.self, create: false)
        let worker = Worker(mails, options: .init(concurrency: 8)) { delivery in
            try await send(delivery.payload)
        }
        try await worker.run()
        try await store.close()
    }
    // end
}
