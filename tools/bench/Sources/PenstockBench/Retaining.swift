internal import ArgumentParser
internal import Foundation
internal import Penstock
internal import PenstockCore
internal import Shared
internal import Synchronization

/// Very many messages through a queue that keeps only the last ones: how large do the files become?
struct RetentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "retention")

    @OptionGroup var options: StoreOptions
    @OptionGroup var producing: ProducerOptions

    @Option(help: "How many ended messages the queue keeps.")
    var retained = 100_000

    func run() async throws {
        let policy = QueuePolicy(
            capacity: Capacity(50_000, whenFull: .wait), retention: Retention(age: nil, count: retained))
        let (store, queue) = try await options.open(policy: policy)
        let payload = options.bytes
        let producing = producing
        let total = producing.total
        let files = Files(path: options.path)
        var measured = try await Measured.run(total) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await producing.produce(payload, to: queue) }
                group.addTask { try await Worker(queue, options: .init(concurrency: 256, max: total)) { _ in }.run() }
                let watch = Task { await files.watch() }
                try await group.waitForAll()
                watch.cancel()
            }
        }
        measured.numbers = files.largest
        while try await store.storage.prune(PruneRequest()).hasMore {}
        try await store.close()
        measured.numbers["file_end"] = Files.size(options.path)
        measured.numbers["wal_end"] = Files.size(options.path + "-wal")
        measured.numbers["rss_peak"] = Memory.peak
        measured.print()
    }
}

/// How large the database and its write-ahead log become.
private final class Files: Sendable {
    private let path: String
    private let most = Mutex((file: 0.0, wal: 0.0))

    init(path: String) {
        self.path = path
    }

    var largest: [String: Double] {
        most.withLock { ["file_most": $0.file, "wal_most": $0.wal] }
    }

    /// Looks ten times a second, until it is cancelled.
    func watch() async {
        repeat {
            let file = Self.size(path)
            let wal = Self.size(path + "-wal")
            most.withLock { $0 = (max($0.file, file), max($0.wal, wal)) }
        } while (try? await Task.sleep(for: .milliseconds(100))) != nil
    }

    static func size(_ path: String) -> Double {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.doubleValue ?? 0
    }
}
