import PenstockCombine
import PenstockSQLite
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// What survives the death of a process: a file, what stands for one or a database of the engine that is named for tests, and the clocks.
final class World: Sendable {
    enum Kind: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case memory, sqlite, elsewhere

        static var allCases: [Kind] { TestDatabase.isElsewhere ? [.elsewhere] : [.memory, .sqlite] }
        /// One that a process leaves behind on a disk.
        static var onDisk: Kind { TestDatabase.isElsewhere ? .elsewhere : .sqlite }

        var testDescription: String { rawValue }
    }

    /// A process: an open store, and what runs its streams.
    struct Process: Sendable {
        let store: PenstockStore
        let watched: WatchedStore
        let stillness = IdleExecutor(isSerial: false)
        let crash: @Sendable () async throws -> Void
        /// The files stay as long as a process is there.
        private let world: World

        init(
            _ base: any MessageStore, _ world: World, ringsItself: Bool,
            crash: @escaping @Sendable () async throws -> Void
        ) {
            watched = WatchedStore(base, stillness, ringsItself: ringsItself)
            store = PenstockStore(
                watched,
                options: .init(durability: .processCrash, time: world.time, random: SeededRandom(seed: 7)))
            self.crash = crash
            self.world = world
        }

        /// Makes a stream's subscription, so that its tasks are watched.
        func run<Result>(_ body: () -> Result) -> Result {
            StreamExecutor.$current.withValue(stillness, operation: body)
        }
    }

    let time = ManualTime()
    let scheduler = VirtualScheduler()
    private let kind: Kind
    private let database: TestDatabase
    private let folder = TemporaryFolder()
    private let beganAt: Timestamp

    init(_ kind: Kind) {
        self.kind = kind
        beganAt = time.now
        database = TestDatabase(time: time, random: SeededRandom(seed: 1))
    }

    /// Opens a process.
    ///
    /// - Parameter ringsItself: whether streams are woken where a call is made, and not by the store's own thread at any
    ///   time: a test that steps through time must know whether something goes on. Nobody hears of other processes then.
    func open(ringsItself: Bool = false) async throws -> Process {
        switch kind {
        case .memory, .elsewhere:
            let store = database.open()
            return Process(store, self, ringsItself: ringsItself) { [database] in try await database.crash(store) }
        case .sqlite:
            let store = try await SQLiteStore.open(
                path: folder.file("q.db"),
                options: .init(time: time, random: SeededRandom(seed: 3)))
            return Process(store, self, ringsItself: ringsItself) { await store.crash() }
        }
    }

    /// Moves to the next thing that is to happen until the moment, by the scheduler or the store's clocks. Returns
    /// whether there was any.
    func step(until milliseconds: Int = .max) -> Bool {
        let action = scheduler.nextMoment.map(\.milliseconds)
        let deadline = time.nextDeadline.map { Int((($0 - beganAt).wholeMicroseconds + 999) / 1_000) }
        guard let next = [action, deadline].compactMap(\.self).min(), next <= milliseconds else { return false }
        move(to: next)
        if next == action { scheduler.performNext(until: VirtualMoment(milliseconds: next)) }
        return true
    }

    /// Moves both clocks to the moment.
    func move(to milliseconds: Int) {
        time.advance(to: beganAt + .milliseconds(milliseconds))
        if scheduler.nextMoment.map({ $0.milliseconds > milliseconds }) ?? true {
            scheduler.run(to: VirtualMoment(milliseconds: milliseconds))
        }
    }
}
