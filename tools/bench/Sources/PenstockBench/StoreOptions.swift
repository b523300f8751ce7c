public import ArgumentParser
internal import Foundation
public import Penstock
public import Synchronization

extension Durability: @retroactive ExpressibleByArgument {}

/// Which store the work is done on.
public struct StoreOptions: ParsableArguments {
    public typealias Opening = @Sendable (_ path: String, _ durability: Durability) async throws -> PenstockStore

    /// Opens a store that is no file; `nil`: all are files. A program says so before it begins.
    public static let opening = Mutex<Opening?>(nil)

    @Option(name: .customLong("db"), help: "The file, or the address of a schema.")
    var path: String

    @Option(help: "What an enqueue survives: powerLoss or processCrash.")
    var durability = Durability.powerLoss

    @Option(help: "Bytes in each payload.")
    var payload = 200

    @Flag(help: "Go on with the file instead of beginning with an empty one.")
    var keep = false

    public init() {}

    /// The payload that every message has.
    var bytes: [UInt8] {
        (0..<payload).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    }

    /// Opens the store and its one queue.
    func open(policy: QueuePolicy? = nil) async throws -> (PenstockStore, Queue<[UInt8]>) {
        if let opening = Self.opening.withLock({ $0 }) {
            let store = try await opening(path, durability)
            return (store, try await store.queue("bench", policy: policy))
        }
        if !keep {
            for end in ["", "-wal", "-shm", "-penstock"] { try? FileManager.default.removeItem(atPath: path + end) }
        }
        let store = try await PenstockStore.open(path: path, options: .init(durability: durability))
        return (store, try await store.queue("bench", policy: policy))
    }
}
