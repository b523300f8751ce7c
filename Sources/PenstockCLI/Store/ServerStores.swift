package import Penstock
import Synchronization

/// How this program opens a store that is no file, if it can: `penstock` cannot, and becomes the program that can.
package enum ServerStores {
    /// Opens the store at the address that `--db` or PENSTOCK_DB names. One that is opened to be read is neither made nor changed.
    package typealias Opener = @Sendable (_ url: String, PenstockStore.Options) async throws -> PenstockStore
    /// Brings the tables at an address to the program's schema, and says which steps that took.
    package typealias Migrator = @Sendable (_ url: String) async throws -> [String]

    /// Inspects what is at an address, and names workers that have had a message for longer than that.
    package typealias Inspector = @Sendable (_ url: String, _ stuckAfter: Duration) async throws -> HealthReport

    private struct Known {
        var openers: [StoreAddress.Kind: Opener] = [:]
        var migrator: Migrator?
        var inspector: Inspector?
    }

    private static let known = Mutex(Known())

    /// From now on stores of this kind are opened so. To be called before ``Program/main()``.
    package static func use(
        _ kind: StoreAddress.Kind, _ opener: @escaping Opener, migrator: Migrator? = nil, inspector: Inspector? = nil
    ) {
        known.withLock { known in
            known.openers[kind] = opener
            known.migrator = migrator
            known.inspector = inspector
        }
    }

    static func canOpen(_ kind: StoreAddress.Kind) -> Bool {
        kind == .file || known.withLock { $0.openers[kind] != nil }
    }

    static func open(_ url: String, _ kind: StoreAddress.Kind, _ options: PenstockStore.Options) async throws
        -> PenstockStore
    {
        guard let opener = known.withLock({ $0.openers[kind] }) else { throw refusal(of: url) }
        return try await opener(url, options)
    }

    static func migrate(_ url: String) async throws -> [String] {
        guard let migrator = known.withLock({ $0.migrator }) else { throw refusal(of: url) }
        return try await migrator(url)
    }

    static func inspect(_ url: String, stuckAfter: Duration) async throws -> HealthReport {
        guard let inspector = known.withLock({ $0.inspector }) else { throw refusal(of: url) }
        return try await inspector(url, stuckAfter)
    }

    private static func refusal(of url: String) -> Failure {
        Failure(
            .usage,
            "\(Passwords.hidden(address: url)) is a server, and this program does not speak with one; it needs a file.")
    }
}
