// shown
import Penstock

struct Order: Codable, Sendable {
    var id: Int
    var item: String
}

struct Shop {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "shop.db")
        let orders = try await store.queue("orders", of: Order.self)

        // When enqueue returns, the order survives a power cut.
        let receipt = try await orders.enqueue(Order(id: 7, item: "tea"))
        print("order 7 is message \(receipt.sequence)")

        // Four at a time. Return: done. Throw: tried again, later and later. Die: another process goes on.
        let worker = Worker(orders, options: .init(concurrency: 4, drain: true)) { delivery in
            print("shipping \(delivery.payload.item), attempt \(delivery.attempt)")
        }
        try await worker.run()

        let status = try await orders.status()
        print("\(status.totals.done) done, \(status.depths.waiting) waiting")
        try await store.close()
    }
}
// end
