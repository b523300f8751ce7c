// shown
import PenstockCombine

struct Mill {
    static func main() async throws {
        let store = try await PenstockStore.open(path: "mill.db")
        let sacks = try await store.queue("sacks", of: Int.self)

        // Ten sacks come at once, and one is ground at a time. Four may wait: as rows, so they outlive this process.
        let flour = (1...10).publisher
            .buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest, in: sacks)
            .flatMap(maxPublishers: .max(1)) { sack in
                Just("sack \(sack)").delay(for: .seconds(0.1), scheduler: DispatchQueue.global())
            }
        for try await sack in flour.values { print("\(sack) is flour") }

        let status = try await sacks.status()
        print("\(status.totals.done) ground, \(status.totals.dropped) turned away")
        try await store.close()
    }
}
// end
