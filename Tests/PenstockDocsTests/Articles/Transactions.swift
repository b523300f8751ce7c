// Transactions with your own tables.

// shown
import GRDB
import Penstock

struct Registration {
    static func main() async throws {
        let pool = try DatabasePool(path: "people.db")
        try await pool.write { db in
            try db.execute(sql: "CREATE TABLE person (name TEXT, welcomed INTEGER NOT NULL DEFAULT 0)")
        }
        let store = try await PenstockStore.open(pool)
        let welcomes = try await store.queue("welcomes", of: String.self)
        let reports = try await store.queue("reports", of: String.self)

        // The person and the message: both are there, or neither.
        try await pool.write { db in
            try db.execute(sql: "INSERT INTO person (name) VALUES ('Ada')")
            try welcomes.enqueue("Ada", in: db)
        }

        // "Write this, finish that, enqueue the next": once, whatever dies when.
        let worker = Worker(welcomes, options: .init(drain: true)) { delivery in
            try await pool.write { db in
                try db.execute(
                    sql: "UPDATE person SET welcomed = welcomed + 1 WHERE name = ?", arguments: [delivery.payload])
                try delivery.done(in: db)
                try reports.enqueue("\(delivery.payload) was welcomed", in: db)
            }
        }
        try await worker.run()

        let welcomed = try await pool.read { db in
            try Int.fetchOne(db, sql: "SELECT welcomed FROM person WHERE name = 'Ada'") ?? 0
        }
        let waiting = try await reports.status().depths.ready
        print("Ada was welcomed \(welcomed) time, and \(waiting) report waits")
        try await store.close()
    }
}
// end
