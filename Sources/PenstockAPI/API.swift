package import Hummingbird
package import Penstock
import PenstockCore
package import PenstockHTTP

/// The queues for programs of any language: JSON over HTTP, under `/v1`.
package struct API: Sendable {
    private let store: PenstockStore
    private let isReadOnly: Bool
    private let time = SystemTime()
    /// Tells this start of this server from others.
    private let server = SystemRandom().next()

    /// - Parameters:
    ///   - store: what is asked and changed.
    ///   - isReadOnly: whether clients that call the store itself may only look at it. What changes something by JSON is told by its method.
    package init(store: PenstockStore, isReadOnly: Bool) {
        self.store = store
        self.isReadOnly = isReadOnly
    }

    /// Adds the routes.
    package func add(to router: Router<ServerContext>) {
        let v1 = router.group("v1")
        Queues(store: store).add(to: v1)
        QueueChanges(store: store).add(to: v1)
        Groups(store: store).add(to: v1)
        SharedLimits(store: store).add(to: v1)
        Enqueuing(store: store, time: time).add(to: v1)
        Messages(store: store, time: time).add(to: v1)
        Commands(store: store).add(to: v1)
        Claims(store: store, time: time).add(to: v1)
        Settlements(store: store, time: time).add(to: v1)
        Leases(store: store).add(to: v1)
        Logs(store: store, time: time).add(to: v1)
        Cursors(store: store).add(to: v1)
        Replays(store: store, time: time).add(to: v1)
        Schedules(store: store).add(to: v1)
        Workflows(store: store, time: time).add(to: v1)
        Events(store: store).add(to: v1)
        let served = ServedStore(store)
        StoreCalling(store: store, served: served, isReadOnly: isReadOnly).add(to: v1)
        RingWaits(store: store, served: served, time: time, server: server).add(to: v1)
        OpenAPI.add(to: router)
    }
}
