package import Hummingbird
package import Penstock
package import PenstockHTTP

/// The queues for programs of any language: JSON over HTTP, under `/v1`.
package struct API: Sendable {
    let store: PenstockStore

    package init(store: PenstockStore) {
        self.store = store
    }

    /// Adds the routes.
    package func add(to router: Router<ServerContext>) {
        let v1 = router.group("v1")
        Queues(store: store).add(to: v1)
        Messages(store: store).add(to: v1)
    }
}
