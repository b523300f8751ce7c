import Penstock

struct OrderPlaced: Event {
    var id: Int
}

private func send(_ mail: Mail) async throws {}

extension Readme {
    static func events(_ store: PenstockStore) async throws {
        // shown
        let bus = try await EventBus.open(in: store)
        let token = bus >> { (order: OrderPlaced) in print("heard of order", order.id) }  // lasts as long as the token
        let mails = bus.subscribe(OrderPlaced.self, named: "mailer")

        bus << OrderPlaced(id: 1)  // handed over; on disk soon, in this order
        try await bus.send(OrderPlaced(id: 2))  // on disk when it returns

        for try await order in mails {
            try await send(Mail(to: "customer of order \(order.event.id)"))
            try await order.settle()  // after a restart "mailer" goes on behind it
        }
        // end
        token.cancel()
    }
}
