import GRDB
import Logging
import Penstock
import ServiceLifecycle
import UnixSignals

// The code of README.md, between marks, each part in the setting it supposes. A test holds the two against each other,
// so what the README shows has been compiled.

struct Mail: Codable, Sendable {
    var to: String
}

private func send(_ mail: Mail) async throws {}

enum Readme {
    static func typedQueue(_ store: PenstockStore) async throws -> Queue<Mail> {
        // shown
        let policy = QueuePolicy(
            capacity: Capacity(10_000, whenFull: .wait),
            retry: RetryPolicy(attemptsMax: 5, base: .seconds(2), cap: .seconds(600)),
            retention: Retention(age: .seconds(24 * 3600)))
        let mails = try await store.queue("mails", of: Mail.self, policy: policy)

        try await mails.enqueue(
            Mail(to: "ada@example.com"),
            options: .init(
                headers: ["trace": "42"],
                priority: 10,
                due: .after(.seconds(60)),
                uniqueKey: UniqueKey("welcome-ada", onConflict: .skip)),
            timeout: .seconds(5))
        // end
        return mails
    }

    static func service(_ mails: Queue<Mail>, _ logger: Logger) -> ServiceGroup {
        // shown
        let worker = Worker(mails, options: .init(concurrency: 8, timeout: .seconds(30))) { delivery in
            guard delivery.payload.to.contains("@") else {
                throw Reject("this is no address")  // a dead letter at once
            }
            try await send(delivery.payload)
        }
        let group = ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger)
        // end
        return group
    }

    static func deliveries(_ mails: Queue<Mail>) async throws {
        // shown
        for try await delivery in mails.deliveries(inFlightMax: 2) {
            try await send(delivery.payload)
            try await delivery.done()
        }
        // end
    }

    static func ownDatabase(_ path: String) async throws {
        // shown
        let pool = try DatabasePool(path: path)
        let store = try await PenstockStore.open(pool)
        let mails = try await store.queue("mails", of: Mail.self)
        try await pool.write { db in
            try db.execute(sql: "UPDATE person SET welcomed = 1 WHERE name = 'Ada'")
            try mails.enqueue(Mail(to: "ada@example.com"), in: db)
        }
        // end
    }

    static func log(_ mails: Queue<Mail>) async throws {
        // shown
        for try await entry in mails.log(last: 100, follow: true) {
            print(entry.record.sequence, entry.record.state)
        }
        // end
    }

    static func look(_ path: String) async throws {
        // shown
        let store = try await PenstockStore.open(path: path, options: .init(access: .readOnly))
        for queue in try await store.queues() { print(queue.name, queue.depths.waiting) }
        // end
        try await store.close()
    }
}
