import Foundation
import PenstockCore

/// Where a server is, as its client is told.
struct ServerURL: Sendable, CustomStringConvertible {
    let description: String
    /// What paths are put behind.
    private let base: String

    /// Reads `http://HOST:PORT`, `https://HOST` or `unix:PATH`.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that says how it is written.
    init(_ text: String) throws(PenstockError) {
        let forms = "write http://HOST:PORT, https://HOST or unix:PATH"
        if text.prefix("unix:".count).lowercased() == "unix:" {
            let path = String(text.dropFirst("unix:".count))
            try require(!path.isEmpty, "'\(text)' names no path of a socket; \(forms).")
            try SocketPath.validate(path)
            guard let escaped = path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else {
                throw PenstockError(.invalidInput, "'\(text)' is no path of a socket; \(forms).")
            }
            (description, base) = ("unix:\(path)", "http+unix://\(escaped)")
            return
        }
        // The command takes either in one place, and a program that was configured like it may as well.
        try require(
            !["postgres://", "postgresql://"].contains { text.lowercased().hasPrefix($0) },
            "That is the address of a PostgreSQL database; open it by PenstockStore.open(postgres:) of the product PenstockPostgres."
        )
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
        else { throw PenstockError(.invalidInput, "That is no address of a server; \(forms).") }
        try require(
            parts.user == nil && parts.password == nil,
            "An address of a server has no user and no password; give the token in PENSTOCK_TOKEN.")
        try require(
            parts.query == nil && parts.fragment == nil && (parts.path.isEmpty || parts.path == "/"),
            "'\(text)' has more than a host and a port; \(forms).")
        // A number that is too large for the parser is as if it were not there, and the token would go to another port.
        let authority = text.dropFirst(scheme.count + "://".count).prefix { $0 != "/" }
        let namesPort = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...].contains(":")
        try require(
            !namesPort || parts.port.map { (1...65_535).contains($0) } ?? false,
            "'\(text)' names no port from 1 to 65535; \(forms).")
        let port = parts.port.map { ":\($0)" } ?? ""
        description = "\(scheme)://\(host)\(port)"
        base = description
    }

    func address(of path: String) -> String { base + path }
}
