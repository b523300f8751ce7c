import Dispatch
import Foundation
import GRDB
import PenstockTestKit
import Synchronization

@testable import PenstockSQL
@testable import PenstockSQLite

/// A disk that keeps of a store's log only what was flushed, and whose flushes can fail.
final class TestDisk: Sendable {
    private struct State {
        var flushCount = 0
        var isBroken = false
        /// What a flush waits for.
        var gate: DispatchSemaphore?
        var flushedLog = Data()
        var acknowledged: Set<String> = []
    }

    private let path: String
    private let state = Mutex(State())

    init(_ path: String) {
        self.path = path
    }

    var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.flush = { [self] _ in flush() }
        return options
    }

    /// How often the log was flushed.
    var flushCount: Int { state.withLock { $0.flushCount } }

    /// What callers were told is on the disk.
    var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

    func acknowledge(_ texts: [String]) {
        state.withLock { $0.acknowledged.formUnion(texts) }
    }

    /// Makes every flush wait until it is let go.
    func hold() {
        state.withLock { $0.gate = DispatchSemaphore(value: 0) }
    }

    /// Lets the flushes go that wait, one for each call.
    func letGo() {
        let gate = state.withLock { $0.gate.take() }
        gate?.signal()
    }

    /// Makes every flush fail, or no more.
    func breakDown(_ isBroken: Bool = true) {
        state.withLock { $0.isBroken = isBroken }
    }

    /// The texts of the messages that are there when the power fails now and comes back.
    func textsAfterPowerCut() throws -> Set<String> {
        try readAfterPowerCut { database in
            // Before the first flush there may not even be a table.
            guard try database.tableExists("penstock_log") else { return [] }
            return try String.fetchSet(database, sql: "SELECT CAST(payload AS TEXT) FROM penstock_log")
        }
    }

    /// What `read` finds when the power fails now and comes back.
    func readAfterPowerCut<T>(_ read: (Database) throws -> T) throws -> T {
        let log = state.withLock { $0.flushedLog }
        let folder = TemporaryFolder()
        let copy = folder.file("queue.db")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try log.write(to: URL(fileURLWithPath: copy + "-wal"))
        return try DatabaseQueue(path: copy).read(read)
    }

    private func flush() -> Int32 {
        state.withLock { $0.gate }?.wait()
        return state.withLock { state in
            state.flushCount += 1
            if state.isBroken {
                errno = EIO
                return -1
            }
            // Read here: of two flushes at once the one that has read less must not be the last to say what is there.
            state.flushedLog = FileManager.default.contents(atPath: path + "-wal") ?? Data()
            return 0
        }
    }
}
