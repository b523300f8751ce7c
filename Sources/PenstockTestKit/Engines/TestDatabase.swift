import Dispatch
import Foundation
package import PenstockCore
import Synchronization

/// What the stores of a test share, as processes share a file: in memory or, where the environment variable PENSTOCK_TEST_ENGINE has the
/// name of a ``TestEngine``, of that one.
///
/// The engine is looked up by its name, `MODULE.CLASS`: so targets whose tests run on it know nothing of it, and need none of its libraries.
package final class TestDatabase: Sendable {
    private enum Kind: Sendable {
        case memory(InMemoryDatabase)
        case engine(any TestEngine)
    }

    /// The engine that was named; `nil`: stores are in memory.
    private static let engine: (any TestEngine.Type)? = {
        guard let name = ProcessInfo.processInfo.environment["PENSTOCK_TEST_ENGINE"], !name.isEmpty else { return nil }
        // Tests that ran in memory instead would prove nothing.
        guard let engine = NSClassFromString(name) as? any TestEngine.Type else {
            fatalError("There is no engine for tests called \(name).")
        }
        return engine
    }()

    /// Whether stores are of another engine than memory.
    package static var isElsewhere: Bool { engine != nil }

    private let kind: Kind

    /// Makes an empty one.
    package init(time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom()) {
        guard let engine = Self.engine else {
            kind = .memory(InMemoryDatabase(time: time, random: random))
            return
        }
        do {
            kind = .engine(try engine.init(time: time, random: random))
        } catch {
            fatalError("The engine for tests has no database: \(error)")
        }
    }

    /// Opens one more store. Fixtures are made where nothing can be awaited, so this blocks.
    package func open() -> any MessageStore {
        switch kind {
        case .memory(let database): return database.open()
        case .engine(let engine): return Self.waiting { HeldStore(base: try await engine.open(), engine: engine) }
        }
    }

    /// The process of `store` dies: nothing is given back.
    package func crash(_ store: any MessageStore) async throws {
        switch (kind, store) {
        case (.memory, let store as InMemoryStore): store.crash()
        case (.engine(let engine), let store as HeldStore): try await engine.crash(store.base)
        default: fatalError("This store is not of this database.")
        }
    }

    /// Where stores are opened: the threads of the pool may all wait for that.
    private static let opening = IdleExecutor(isSerial: false)

    private static func waiting(_ open: @escaping @Sendable () async throws -> HeldStore) -> HeldStore {
        let end = DispatchSemaphore(value: 0)
        let opened = Mutex<HeldStore?>(nil)
        Task.detached(executorPreference: opening) {
            do {
                let store = try await open()
                opened.withLock { $0 = store }
            } catch {
                fatalError("The engine for tests opens no store: \(error)")
            }
            end.signal()
        }
        end.wait()
        guard let store = opened.withLock({ $0 }) else { fatalError("A store was opened, and is not there.") }
        return store
    }
}

/// A store that keeps its database, which goes with the last of them. Its calls go on elsewhere, and an executor that waits until nothing
/// can go on is told so: of a store in memory they are a part of the task.
private struct HeldStore: ForwardingStore {
    let base: any MessageStore
    let engine: any TestEngine

    func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let executor = IdleExecutor.current
        executor?.leave()
        defer { executor?.comeBack() }
        return try await body()
    }

    func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        try await perform(operations, awayFrom: IdleExecutor.current, flushed: flushed)
    }
}
