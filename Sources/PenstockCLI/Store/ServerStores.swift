package import Penstock
import Synchronization

/// How this program opens a store at a server, if it can: `penstock` cannot, and becomes the program that can.
package enum ServerStores {
    /// Opens the store at an address.
    package typealias Opener = @Sendable (_ url: String, PenstockStore.Options) async throws -> PenstockStore

    private static let opener = Mutex<Opener?>(nil)

    /// From now on stores at servers are opened so.
    static func use(_ opener: @escaping Opener) { Self.opener.withLock { $0 = opener } }

    /// Whether it can.
    static var isKnown: Bool { opener.withLock { $0 != nil } }

    /// Whether what `--db` or PENSTOCK_DB says is the address of a server.
    static func isAddress(_ path: String) -> Bool {
        ["http://", "https://", "unix:"].contains { path.hasPrefix($0) }
    }

    /// The store at an address.
    static func open(_ url: String, _ options: PenstockStore.Options) async throws -> PenstockStore {
        guard let opener = opener.withLock({ $0 }) else {
            throw Failure(.software, "This program does not speak with servers; call `penstock` instead.")
        }
        return try await opener(url, options)
    }
}
