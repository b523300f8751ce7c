import Penstock
import ServiceLifecycle

/// What a store needs that nobody works beside the server: lost work is put back in line, schedules fire, and what retention lets go
/// is forgotten.
struct Upkeep: Service {
    let store: PenstockStore

    func run() async throws {
        await cancelWhenGracefulShutdown { await store.keepUp() }
    }
}
