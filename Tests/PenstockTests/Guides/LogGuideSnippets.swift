import Penstock

struct OrderPaid: Event, Billable {
    var price: Int
}

protocol Billable: Sendable {
    var price: Int { get }
}

/// The code of the guides that is no whole program, between marks, each part in the setting it supposes.
enum LogGuides {
    static func tokens(_ store: PenstockStore) async throws -> EventSubscription {
        // shown
        let bus = try await EventBus.open(in: store)
        let token = bus >> { (order: OrderPlaced) in print("a process hears of order", order.id) }
        // end
        return token
    }

    static func sequence(_ bus: EventBus) async throws {
        // shown
        for try await order in bus.subscribe(OrderPlaced.self) {
            print(order.id)
        }
        // end
    }

    static func kinds(_ store: PenstockStore) async throws -> EventSubscription {
        // shown
        let bus = try await EventBus.open(in: store, types: [OrderPlaced.self, OrderPaid.self])
        let token = bus >> { (event: any Billable) in print(event.price) }
        // end
        return token
    }

    static func subject(_ store: PenstockStore) async throws {
        // shown
        let prices = AsyncDurableReplaySubject(bufferSize: 3, in: try await store.queue("prices", of: Double.self))
        try await prices.send(9.5)
        try await prices.finish()
        for try await price in prices { print(price) }
        // end
    }
}
