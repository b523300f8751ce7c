import Penstock

// The README's handler with steps.

struct ReadmeWorkflows {
    struct Order: Codable, Sendable {
        var cents: Int
    }

    struct Charge: Codable, Sendable {
        var id: String
    }

    struct Parcel: Codable, Sendable {
        var number: Int
    }

    struct Mail: Sendable {
        init(about charge: Charge) {}
    }

    struct Bank: Sendable {
        func charge(_ order: Order) async throws -> Charge { Charge(id: "\(order.cents)") }
        func refund(_ charge: Charge) async throws {}
    }

    let bank = Bank()

    @Sendable func send(_ mail: Mail) async throws {}

    func worker(_ orders: Queue<Order>) -> Worker<Order> {
        // shown
        let worker = Worker(orders) { delivery in
            let charge = try await delivery.step("charge") { try await bank.charge(delivery.payload) }
            guard try await delivery.event("packed", as: Parcel.self, timeout: .seconds(86_400)) != nil else {
                return try await delivery.step("refund") { try await bank.refund(charge) }
            }
            try await delivery.step("mail") { try await send(Mail(about: charge)) }
        }
        // end
        return worker
    }
}
