package import PenstockCore

/// Where a server listens.
package enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A TCP port. Port 0 is one that the system chooses.
    case port(host: String, Int)
    /// A socket in the file system, which only its owner may use.
    case unix(path: String)

    /// Reads `127.0.0.1:7700`, `[::1]:7700`, `localhost:7700` or `unix:PATH`.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that says how an address is written.
    package init(_ text: String) throws(PenstockError) {
        let forms = "write HOST:PORT, such as 127.0.0.1:7700 or [::1]:7700, or unix:PATH"
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            try require(!path.isEmpty, "'\(Escape.excerpt(text))' names no path; \(forms).")
            try SocketPath.validate(path)
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw PenstockError(.invalidInput, "'\(Escape.excerpt(text))' is no address to listen at; \(forms).") }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            throw PenstockError(.invalidInput, "'\(Escape.excerpt(text))' is no address to listen at; \(forms).")
        }
        try require(
            !host.isEmpty, "'\(Escape.excerpt(text))' names no host; \(forms). 0.0.0.0 is every address of the machine."
        )
        self = .port(host: host, port)
    }

    /// Whether nobody but programs of this machine reach it.
    package var isLocal: Bool {
        switch self {
        case .unix: true
        case .port(let host, _): Self.isLocal(host: host)
        }
    }

    /// Whether the host can be no other machine, whatever its name leads to: `127.example.org` is a name as well.
    package static func isLocal(host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
    }

    /// The address with the port that the system has chosen, where it is one of a port and that is known.
    package func bound(to port: Int?) -> ListenAddress {
        if case .port(let host, _) = self, let port { .port(host: host, port) } else { self }
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .port(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
