import GRDB
import Penstock

// Workflows. Their reader has a shop.

extension WorkflowsArticle {
    struct Order: Codable, Sendable {
        var id: Int
        var cents: Int
        var parcels: [Int]
        var parts: [Int]
    }

    struct Charge: Codable, Sendable {
        var id: String
    }

    struct Payment: Codable, Sendable {
        var cents: Int
    }

    struct Shop: Sendable {
        var store: PenstockStore
        var payments: Queue<Order>
        var packing: Queue<Int>
        var mails: Queue<Order>
        var reports: Queue<Order>
        var films: Queue<Order>
        var parts: Queue<Int>
        var invoices: Queue<Order>
    }

    struct Bank: Sendable {
        func charge(_ order: Order) async throws -> Charge { Charge(id: "\(order.id)") }
        func book(_ charge: Charge) async throws {}
    }
}

struct WorkflowsArticle {
    let bank = Bank()
    let ledger = Bank()

    // shown
    func place(_ order: Order, in shop: Shop) async throws {
        var workflow = Workflow("order-\(order.id)")
        let charge = try workflow.add("charge", order, to: shop.payments)
        let parcels = try workflow.add("pack", contentsOf: order.parcels, to: shop.packing, after: charge)
        try workflow.add("mail", order, to: shop.mails, after: parcels)
        try workflow.add("report", order, to: shop.reports, after: .ended(charge))
        let started = try await shop.store.start(workflow)
        print(started.name, started.isNew, started[charge]?.sequence ?? 0)
    }
    // end

    @Sendable func send(_ order: Order, _ charge: Charge? = nil) async throws {}
    @Sendable func remind(_ order: Order) async throws {}
    @Sendable func handOver(_ order: Order) async throws {}

    func results(_ shop: Shop) -> [Worker<Order>] {
        // shown
        let payer = Worker(shop.payments) { delivery in
            try await delivery.done(result: try await bank.charge(delivery.payload))
        }
        let writer = Worker(shop.mails) { delivery in
            let charge = try await delivery.result(of: "charge", as: Charge.self)
            try await send(delivery.payload, charge)
        }
        // end
        return [payer, writer]
    }

    func splits(_ shop: Shop) -> [Worker<Order>] {
        // shown
        let splitter = Worker(shop.films) { delivery in
            var more = Workflow()
            try more.add("part", contentsOf: delivery.payload.parts, to: shop.parts)
            try await delivery.done(adding: more)
        }
        // end
        return [splitter]
    }

    func steps(_ shop: Shop) -> Worker<Order> {
        // shown
        let worker = Worker(shop.payments) { delivery in
            let charge = try await delivery.step("charge") { try await bank.charge(delivery.payload) }
            try await delivery.step("book") { try await ledger.book(charge) }
            try await delivery.step("mail") { try await send(delivery.payload, charge) }
        }
        // end
        return worker
    }

    func stepInTransaction(_ pool: DatabasePool, _ delivery: Delivery<Order>) async throws -> Int {
        // shown
        let charged = try await pool.write { db in
            try delivery.step("book", in: db) {
                try db.execute(sql: "UPDATE account SET cents = cents - ?", arguments: [delivery.payload.cents])
                return delivery.payload.cents
            }
        }
        // end
        return charged
    }

    func waits(_ shop: Shop) -> Worker<Order> {
        // shown
        let reminder = Worker(shop.invoices) { delivery in
            try await delivery.step("send") { try await send(delivery.payload) }
            let paid = try await delivery.event("paid", as: Payment.self, timeout: .seconds(14 * 86_400))
            guard paid == nil else { return }
            try await delivery.step("remind") { try await remind(delivery.payload) }
            try await delivery.sleep("a week", for: .seconds(7 * 86_400))
            try await delivery.step("hand over") { try await handOver(delivery.payload) }
        }
        // end
        return reminder
    }

    func emits(_ store: PenstockStore, _ receipt: Receipt) async throws {
        // shown
        try await store.emit("paid", Payment(cents: 1900), to: .message(receipt.sequence))
        // end
    }
}
