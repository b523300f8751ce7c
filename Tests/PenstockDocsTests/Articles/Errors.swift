import Penstock

// Errors and what to do, and what a receipt promises.

struct ErrorsArticle {
    // shown
    func enqueueWithKey(_ order: Order, in orders: Queue<Order>) async throws -> Receipt {
        let key = UniqueKey("order \(order.id)")
        do {
            return try await orders.enqueue(order, options: .init(uniqueKey: key))
        } catch let error as PenstockError where error.code == .outcomeUnknown {
            // The receipt says "skipped" when the first one is in line.
            return try await orders.enqueue(order, options: .init(uniqueKey: key))
        }
    }
    // end

    // shown
    func enqueueAll(_ orders: [Order], in queue: Queue<Order>) async throws -> ArraySlice<Order> {
        do {
            try await queue.enqueue(contentsOf: orders, timeout: .seconds(5))
            return []
        } catch let error as PenstockError where error.code == .timedOut {
            return orders.dropFirst(error.receipts.count)
        }
    }
    // end

    // shown
    func record(_ order: Order, _ sample: Double, _ orders: Queue<Order>, _ samples: Queue<Double>) async throws {
        let receipt = try await orders.enqueue(order)
        assert(receipt.durability == .powerLoss)  // It was on the disk before enqueue returned.
        try await samples.enqueue(sample, durability: .processCrash)
    }
    // end
}
