package import Hummingbird
package import Penstock
package import PenstockHTTP

/// Placeholder.
package struct SQS: Sendable {
    let store: PenstockStore

    package init(store: PenstockStore) {
        self.store = store
    }

    /// Adds the routes.
    package func add(to router: Router<ServerContext>) {}
}
