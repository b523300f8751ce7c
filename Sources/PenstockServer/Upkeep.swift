import Penstock
import ServiceLifecycle

/// What a store needs that nobody works beside the server: lost work is put back in line, schedules fire, and what retention lets go
/// is forgotten. It ends, and the server with it, when another file has the store's name, or a flush of the disk has failed: nobody would
/// be served by it any more, and the supervisor opens the store anew.
struct Upkeep: Service {
    let store: PenstockStore
    /// Whether the store is only looked at.
    let isReadOnly: Bool

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            if isReadOnly { try await store.watch() } else { try await store.keepUp() }
        }
    }
}
