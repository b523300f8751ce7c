public import ArgumentParser
internal import Foundation
public import Penstock

extension Durability: @retroactive ExpressibleByArgument {}

/// Which store the work is done on.
struct StoreOptions: ParsableArguments {
    @Option(name: .customLong("db"), help: "The file.")
    var path: String

    @Option(help: "What an enqueue survives: powerLoss or processCrash.")
    var durability = Durability.powerLoss

    @Option(help: "Bytes in each payload.")
    var payload = 200

    @Flag(help: "Go on with the file instead of beginning with an empty one.")
    var keep = false

    /// The payload that every message has.
    var bytes: [UInt8] {
        (0..<payload).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    }

    /// Opens the store and its one queue.
    func open(policy: QueuePolicy? = nil) async throws -> (PenstockStore, Queue<[UInt8]>) {
        if !keep {
            for end in ["", "-wal", "-shm", "-penstock"] { try? FileManager.default.removeItem(atPath: path + end) }
        }
        let store = try await PenstockStore.open(path: path, options: .init(durability: durability))
        return (store, try await store.queue("bench", policy: policy))
    }
}
