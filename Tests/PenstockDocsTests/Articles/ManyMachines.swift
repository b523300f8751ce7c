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

    // shown
    func welcome(at address: String) async throws {
        let store = try await PenstockStore.open(postgres: address)
        let welcomes = try await store.queue("welcomes", of: String.self)
        let reports = try await store.queue("reports", of: String.self)
        let worker = Worker(welcomes, options: .init(drain: true)) { delivery in
            try await store.transaction { transaction in
                try transaction.execute(
                    "UPDATE person SET welcomed = welcomed + 1 WHERE name = $1", .text(delivery.payload))
                try delivery.done(in: transaction)
                try reports.enqueue("\(delivery.payload) was welcomed", in: transaction)
            }
        }
        try await worker.run()
        try await store.close()
    }
    // end
}
