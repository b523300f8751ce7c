import Penstock
import PenstockTestKit

// The landing page of PenstockTestKit.

enum TestKitArticle {
    static func store() -> PenstockStore {
        // shown
        let time = ManualTime()
        let store = PenstockStore(InMemoryStore(time: time), options: .init(time: time))
        // end
        return store
    }
}
