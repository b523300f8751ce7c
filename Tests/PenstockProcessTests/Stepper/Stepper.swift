import GRDB
import Penstock

/// Works a queue whose handler has ten steps, and notes each effect: the odd ones in the store's own database, in one transaction
/// with the step's record, and the even ones as a line on standard output, which no transaction undoes.
///
/// Arguments: the file. It ends when nothing waits.
@main struct Stepper {
    static let stepCount = 10

    static func main() async throws {
        let pool = try DatabasePool(path: CommandLine.arguments[1])
        let store = try await PenstockStore.open(pool)
        let queue = try await store.queue("steps", of: Int.self)
        let worker = Worker(queue, options: .init(drain: true)) { delivery in
            for number in 1...stepCount {
                if number.isMultiple(of: 2) {
                    try await delivery.step("step \(number)") { Self.note("\(delivery.payload) \(number)") }
                } else {
                    try await pool.write { db in
                        try delivery.step("step \(number)", in: db) {
                            try db.execute(
                                sql: "INSERT INTO effect (message, step) VALUES (?, ?)",
                                arguments: [delivery.payload, number])
                        }
                    }
                }
            }
        }
        try await worker.run()
        try await store.close()
    }

    /// One write, so that no line is cut in two.
    private static func note(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(1, bytes, bytes.count)
    }
}

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
