// Getting started.

// shown
import Penstock

struct Letter: Codable, Sendable {
    var to: String
}

struct NotAtHome: Error {}

struct PostOffice {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "post.db")
        let policy = QueuePolicy(retry: RetryPolicy(attemptsMax: 3, base: .milliseconds(10)))
        let letters = try await store.queue("letters", of: Letter.self, policy: policy)

        // When enqueue returns, the letter survives a power cut.
        for name in ["Ada", "Bob", "Nobody"] { try await letters.enqueue(Letter(to: name)) }

        // Three letters, and one of them needs two attempts: four in all.
        let worker = Worker(letters, options: .init(max: 4)) { delivery in
            let name = delivery.payload.to
            if name == "Nobody" { throw Reject("there is no such person") }
            if name == "Bob", delivery.attempt == 1 { throw NotAtHome() }
            print("a letter to \(name), attempt \(delivery.attempt)")
        }
        try await worker.run()

        // The log has every letter that was accepted, and what has become of it.
        for try await entry in letters.log() {
            let letter = try entry.payload()
            print("\(entry.record.sequence) \(letter.to) \(entry.record.state)")
        }
        try await store.close()
    }
}
// end
