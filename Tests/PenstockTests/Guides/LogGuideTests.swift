import Foundation
import Penstock
import PenstockTestKit
import Synchronization
import Testing

/// What the guides' programs printed. Their `print` is this one.
private let printed = Mutex<[String]>([])

func print(_ items: Any...) {
    printed.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct LogGuideTests {
    /// Runs a guide's program, which opens a file in the working directory, as its reader's would.
    private func run(_ files: [String], _ body: () async throws -> Void) async throws -> [String] {
        func removeFiles() {
            for file in files {
                for suffix in ["", "-wal", "-shm", "-penstock"] {
                    try? FileManager.default.removeItem(atPath: file + suffix)
                }
            }
        }
        removeFiles()
        defer { removeFiles() }
        printed.withLock { $0 = [] }
        try await body()
        return printed.withLock { $0 }
    }

    @Test func theBusTellsAndReplays() async throws {
        let lines = try await run(["events.db"]) { try await ShopWithEvents.main() }
        #expect(
            lines == [
                "mail for order 1", "mail for order 2", "later, mail for order 3", "later, mail for order 4",
                "replayed 3", "replayed 4",
            ])
    }

    @Test func theThermometersMemoryOutlivesIt() async throws {
        let lines = try await run(["readings.db"]) { try await Thermometer.main() }
        #expect(
            lines == [
                "measured 20.5", "measured 21.0", "measured 21.5", "measured 22.0", "then 21.5", "then 22.0",
                "then 22.5",
            ])
    }

    @Test func theExamplesDoWhatTheySay() async throws {
        let lines = try await run([]) {
            let store = PenstockStore(InMemoryStore())
            let tokens = [try await LogGuides.tokens(store), try await LogGuides.kinds(store)]
            let bus = try await EventBus.open(in: store)
            let taking = Task { try await LogGuides.sequence(bus) }
            // The guide's loop does not tell when it has begun to listen, and a subscription of another bus object
            // begins when the store has said where.
            try await eventually {
                try await bus.send(OrderPaid(price: 5))
                try await bus.send(OrderPlaced(id: 7))
                return printed.withLock { Set($0) }.isSuperset(of: ["a process hears of order 7", "7", "5"])
            }
            taking.cancel()
            _ = await taking.result
            for token in tokens { token.cancel() }
            try await LogGuides.subject(store)
        }
        #expect(Set(lines).isSuperset(of: ["a process hears of order 7", "7", "5", "9.5"]))
    }
}
