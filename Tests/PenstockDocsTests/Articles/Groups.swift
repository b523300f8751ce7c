import Penstock

// Groups and limits. Their reader keeps accounts.

struct Booking: Codable, Sendable {
    var account: String
    var cents: Int
}

struct GroupsArticle {
    struct Ledger: Sendable {
        func book(_ booking: Booking, number: Int64) async throws {}
    }

    let ledger = Ledger()

    // shown
    func book(_ bookings: [Booking], in store: PenstockStore) async throws {
        let policy = QueuePolicy(groups: .fifo(onDead: .hold))
        let queue = try await store.queue("bookings", of: Booking.self, policy: policy)
        for booking in bookings {
            try await queue.enqueue(booking, options: .init(group: booking.account))
        }
    }
    // end

    // shown
    func ledgerWorker(_ bookings: Queue<Booking>) -> Worker<Booking> {
        Worker(bookings) { delivery in
            // The ledger does nothing for a number that is not above the last one of that account.
            try await ledger.book(delivery.payload, number: delivery.sequence.rawValue)
        }
    }
    // end

    // shown
    func share(_ store: PenstockStore, among queues: [Queue<[UInt8]>]) async throws {
        try await store.setLimit("database", to: 10)
        for queue in queues {
            try await queue.changePolicy { $0.sharedLimit = try LimitName("database") }
        }
    }
    // end

    // shown
    func hold(_ account: String, of bookings: Queue<Booking>) async throws {
        try await bookings.pauseGroup(account)
        for group in try await bookings.groups() {
            print(group.key, group.permitted, group.blocked, group.isPaused, group.heldBy?.rawValue ?? 0)
        }
        try await bookings.resumeGroup(account)
    }
    // end
}
