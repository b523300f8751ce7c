import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockWire
import Synchronization

/// Which store is served to clients that call it themselves. A server can be started anew with another file, in which their numbers of
/// messages mean nothing, or another message.
final class ServedStore: Sendable {
    private let store: PenstockStore
    private let known = Mutex<StoreID?>(nil)

    init(_ store: PenstockStore) {
        self.store = store
    }

    /// Which one it is; `nil`: it has no identity, as it is only read and was never given one.
    var id: StoreID? {
        get async throws {
            if let known = known.withLock({ $0 }) { return known }
            let id = try await store.storage.storeID()
            known.withLock { $0 = id }
            return id
        }
    }

    /// Throws a problem with status 409 when the client has opened another one.
    func requireOpened(by request: Request) async throws {
        guard let opened = request.headers[.store] else { return }
        guard try await id?.rawValue == opened else {
            throw Problem(
                .conflict, code: PenstockError.Code.fileReplaced.rawValue,
                "The server has another store now than the one that was opened; start again on what is there now.")
        }
    }
}

extension HTTPField.Name {
    /// The name is a token, as it has to be.
    fileprivate static let store = HTTPField.Name(WireFormat.storeHeader) ?? .ifMatch
}
