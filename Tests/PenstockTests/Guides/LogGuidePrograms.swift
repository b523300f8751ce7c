import Penstock

// The whole programs of the guides, between marks. A test runs them, and their `print` is the test's.

// shown
struct OrderPlaced: Event {
    var id: Int
}

struct ShopWithEvents {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "events.db")
        let bus = try await EventBus.open(in: store)
        let mails = bus.subscribe(OrderPlaced.self, named: "mailer")
        for id in 1...3 { bus << OrderPlaced(id: id) }
        try await bus.send(OrderPlaced(id: 4))  // When it returns, all four are on the disk.

        for try await order in mails {
            print("mail for order", order.event.id)
            try await order.settle()
            if order.event.id == 2 { break }
        }
        try await store.close()

        // After a restart it goes on behind the last event that was settled under its name.
        let later = try await PenstockStore.open(path: "events.db")
        let again = try await EventBus.open(in: later)
        for try await order in again.subscribe(OrderPlaced.self, named: "mailer") {
            print("later, mail for order", order.event.id)
            try await order.settle()
            if order.event.id == 4 { break }
        }
        try await again.replay(count: 2) { (order: OrderPlaced) in print("replayed", order.id) }
        try await later.close()
    }
}
// end

// shown
struct Thermometer {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "readings.db")
        let readings = try await store.queue("readings", of: Double.self)

        // However many subscribers there are, the thermometer is read once.
        let measured = AsyncStream<Double> { sensor in
            for value in [20.5, 21.0, 21.5, 22.0] { sensor.yield(value) }
            sensor.finish()
        }
        for try await value in measured.shareReplay(2, in: readings) { print("measured", value) }
        try await store.close()

        // As after a restart: what comes first is the end of the earlier log.
        let later = try await PenstockStore.open(path: "readings.db")
        let log = try await later.queue("readings", of: Double.self)
        let next = AsyncStream<Double> { sensor in
            sensor.yield(22.5)
            sensor.finish()
        }
        for try await value in next.shareReplay(2, in: log) { print("then", value) }
        try await later.close()
    }
}
// end
