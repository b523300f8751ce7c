import PenstockConformance
import PenstockCore
import PenstockTestKit
import Testing

// The landing page of PenstockConformance.

// shown
struct MyHarness: StoreHarness {
    let time = ManualTime()
    private let database: InMemoryDatabase

    init() {
        database = InMemoryDatabase(time: time, random: SeededRandom(seed: 1))
    }

    func open() async throws -> any MessageStore {
        database.open()
    }

    func crash(_ store: any MessageStore) async throws {
        (store as? InMemoryStore)?.crash()
    }
}

@Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
func myStoreConforms(_ rule: ConformanceCase) async throws {
    try await rule.run(on: MyHarness())
}
// end

// shown
@Test(arguments: 1...20 as ClosedRange<UInt64>)
func myStoreLivesAsTheModelDoes(seed: UInt64) async throws {
    try await RandomLives.compare(seed: seed, steps: 100, InMemoryHarness(seed: seed), MyHarness())
}
// end
