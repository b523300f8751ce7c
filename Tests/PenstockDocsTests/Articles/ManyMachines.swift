import Penstock
import PenstockPostgres

// From one machine to many.

struct ManyMachinesArticle {
    func send(_ mail: Mail) async throws {}

    // shown
    func work(at address: String) async throws {
        let store = try await PenstockStore.open(postgres: address)
        let mails = try await store.queue("mails", of: Mail.self)
        let worker = Worker(mails, options: .init(concurrency: 8)) { delivery in
            try await send(delivery.payload)
        }
        try await worker.run()
        try await store.close()
    }
    // end
}
