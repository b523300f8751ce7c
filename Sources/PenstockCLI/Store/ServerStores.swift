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
        // Schemes are written in letters of either case.
        let start = path.prefix(8).lowercased()
        return ["http://", "https://", "unix:"].contains { start.hasPrefix($0) }
    }

    /// Whether it is an address that no server has: what has another scheme is no name of a file that anybody means.
    static func isForeignAddress(_ path: String) -> Bool {
        guard !isAddress(path), let end = path.firstRange(of: "://") else { return false }
        let scheme = path[..<end.lowerBound].utf8
        return !scheme.isEmpty
            && scheme.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }

    /// Whether it looks like the host and the port of a server.
    static func looksLikePort(_ path: String) -> Bool {
        guard !path.contains("/"), let colon = path.lastIndex(of: ":"), colon > path.startIndex else { return false }
        return (Int(path[path.index(after: colon)...]).map { 1...65_535 ~= $0 }) ?? false
    }

    /// The store at an address.
    static func open(_ url: String, _ options: PenstockStore.Options) async throws -> PenstockStore {
        guard let opener = opener.withLock({ $0 }) else {
            throw Failure(.usage, "\(url) is a server, and this program does not speak with one; it needs a file.")
        }
        return try await opener(url, options)
    }
}
