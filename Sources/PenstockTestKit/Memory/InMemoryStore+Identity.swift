public import PenstockCore

extension InMemoryStore {
    /// Which store this is; see ``/PenstockCore/MessageStore``. All handles on one ``InMemoryDatabase`` have the same.
    public func storeID() async throws -> StoreID? {
        try database.act(as: id) { state, moment throws(PenstockError) in
            let id = state.id ?? StoreID(random: moment.random)
            state.id = id
            return id
        }
    }
}
