import HTTPTypes
package import Hummingbird
import PenstockCore

/// Refuses requests that were meant for another host, where no token is asked for.
///
/// A page of the web can have its own name lead to this machine (DNS rebinding), and then a browser lets it read what this server
/// says. The name in the request is still the page's, so the request is refused.
package struct HostCheck: DoorCheck {
    private let names: Set<String>

    /// - Parameter names: the names by which this server is called, without a port.
    package init(names: Set<String>) {
        self.names = Set(names.map { $0.lowercased() })
    }

    package func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
        if context.isLocalSocket { return nil }
        guard let name = Self.name(request.head.authority ?? ""), names.contains(name) else {
            return Problem(
                .misdirectedRequest, code: "wrongHost",
                "This server is not called that; start it with --host NAME if it is to be."
            ).response
        }
        return nil
    }

    /// Whether a request may call its server that: a name or an address, without brackets and a port.
    package static func isName(_ text: String) -> Bool {
        guard !text.isEmpty else { return false }
        let isVersion6 = text.filter { $0 == ":" }.count >= 2
        return text.utf8.allSatisfy { byte in
            byte.isLetterOrDigit || ".-_".utf8.contains(byte) || byte == UInt8(ascii: ":") && isVersion6
        }
    }

    /// The host of an authority such as `localhost:7700` or `[::1]:7700`.
    static func name(_ authority: String) -> String? {
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
        } else {
            host = authority.prefix { $0 != ":" }
        }
        return host.isEmpty ? nil : host.lowercased()
    }
}
