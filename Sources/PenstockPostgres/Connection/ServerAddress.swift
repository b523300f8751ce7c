import CPenstockPostgres
import Foundation
import PenstockCore

/// Where a database is, and in which of its schemas the store lies.
///
/// The text is one that libpq takes, `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full`, with a parameter of Penstock's own,
/// `schema`. What it leaves out, libpq takes from the environment (`PGPASSWORD`, `PGSERVICE`) and from `~/.pgpass`. So a password
/// need not be in it, where other users of the machine see it in the list of processes.
///
/// Source: PostgreSQL's manual, "Connection URIs" and "Environment Variables" of libpq.
struct ServerAddress: Sendable {
    /// The schema's name.
    let schema: String
    /// Where the store's statements look for names, in SQL.
    var searchPath: String { "\(ServerConnection.quoted(name: schema)), pg_temp" }
    /// What people are told: no password, and no parameters.
    let description: String
    /// Where it may be, if that is more than one place.
    let hosts: [Host]
    /// What was found out about them.
    let known = KnownServers()
    /// How long a server may take to be connected.
    let connectMax: Duration
    private let text: String
    private let access: StoreAccess

    /// One of several servers, in libpq's words.
    struct Host: Equatable, Sendable {
        let parameters: [String: String]

        /// Whether it is the one to which `connection` leads.
        func isServer(of connection: OpaquePointer) -> Bool {
            let name = parameters["host"] ?? parameters["hostaddr"]
            guard PQhost(connection).map({ String(cString: $0) }) == name else { return false }
            guard let port = parameters["port"] else { return true }
            // One that is left out of a list is the usual one.
            return PQport(connection).map { String(cString: $0) } == (port.isEmpty ? "5432" : port)
        }
    }

    /// Whether a server that only can be read will not do.
    var mustBeWritable: Bool { access == .readWrite }

    /// The places in the order in which they are asked.
    var hostsInTurn: [Host] { mustBeWritable ? known.inTurn(hosts) : hosts }

    /// Takes note of where `connection` leads to, unless that is a standby: the address may allow for one.
    func note(_ connection: OpaquePointer) {
        if PQparameterStatus(connection, "in_hot_standby").map({ String(cString: $0) }) == "on" { return }
        if let host = hosts.first(where: { $0.isServer(of: connection) }) { known.note(host) }
    }

    /// Has other places asked than the one to which `connection` leads: that was not the one.
    func avoid(_ connection: OpaquePointer) {
        if let host = hosts.first(where: { $0.isServer(of: connection) }) { known.refuse(host) }
    }

    /// Where `server` was found: of several hosts all, as any of them may be promoted.
    func place(of server: ServerConnection) -> String {
        if !hosts.isEmpty { return hosts.map { "\($0.parameters.sorted { $0.key < $1.key })" }.joined(separator: ",") }
        return [PQhost(server.connection), PQport(server.connection)].map { $0.map { String(cString: $0) } ?? "" }
            .joined(separator: ":")
    }

    /// How the text of an address begins.
    static let schemes = ["postgres://", "postgresql://"]

    /// - Parameter access: one that is only read may be a standby.
    /// - Throws: `invalidInput` when `text` is no address. The message has nothing of it, as it may have a password.
    init(_ text: String, access: StoreAccess = .readWrite) throws {
        // Schemes are written in letters of either case, and libpq takes small ones.
        guard let scheme = Self.schemes.first(where: { text.lowercased().hasPrefix($0) }), !text.utf8.contains(0) else {
            throw PenstockError(
                .invalidInput, "This is no address of a PostgreSQL database; write postgres://HOST/DATABASE.")
        }
        let (rest, schema) = try Self.splitSchema(scheme + text.dropFirst(scheme.count))
        try Self.refuseAmbiguity(of: rest.dropFirst(scheme.count))
        self.text = rest
        self.schema = schema
        self.access = access
        let parameters = try Self.parsed(rest)
        description = Self.description(parameters, schema)
        hosts = Self.hosts(parameters)
        connectMax = .seconds(parameters["connect_timeout"].flatMap { Int($0) }.map { max($0, 2) } ?? 5)
    }

    /// A password with one of these characters in it ends there for libpq, and what it takes for a host or a port it quotes.
    private static func refuseAmbiguity(of text: Substring) throws {
        let place = text.prefix { $0 != "?" }
        let authority = place.prefix { $0 != "/" }
        if authority.count(where: { $0 == "@" }) > 1 || place[authority.endIndex...].contains("@") { throw unreadable }
    }

    /// Takes Penstock's own parameter out, which libpq would refuse.
    private static func splitSchema(_ text: String) throws -> (rest: String, schema: String) {
        guard let mark = text.firstIndex(of: "?") else { return (text, "penstock") }
        var schema = "penstock"
        var others: [Substring] = []
        for parameter in text[text.index(after: mark)...].split(separator: "&") {
            guard parameter.hasPrefix("schema=") else {
                others.append(parameter)
                continue
            }
            guard let name = parameter.dropFirst("schema=".count).removingPercentEncoding, !name.isEmpty,
                name.utf8.count <= schemaBytesMax, !name.utf8.contains(0), !name.hasPrefix("pg_"),
                // A search path with this name means the role's.
                name != "$user"
            else {
                throw PenstockError(
                    .invalidInput,
                    "The schema of the address has no name that can be: 1 to \(schemaBytesMax) bytes, not pg_ before them, and not "
                        + "$user.")
            }
            schema = name
        }
        return (text[..<mark] + (others.isEmpty ? "" : "?" + others.joined(separator: "&")), schema)
    }

    /// As long as leaves room for the name of a channel.
    private static let schemaBytesMax = 54

    private static var unreadable: PenstockError {
        PenstockError(
            .invalidInput,
            "The address of the database cannot be read; write postgres://USER@HOST:PORT/DATABASE, and put other characters than "
                + "letters and digits as %XX.")
    }

    /// libpq's parameters that the text names.
    private static func parsed(_ text: String) throws -> [String: String] {
        guard let options = PQconninfoParse(text, nil) else {
            if let name = unknownParameter(of: text) {
                throw PenstockError(
                    .invalidInput,
                    "The address of the database has a parameter '\(name)', which PostgreSQL's library does not know.")
            }
            throw unreadable
        }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        // Of a password with an @ in it the rest would be taken for the host, and be told of. A socket in the abstract begins with one.
        guard found["host"]?.dropFirst().contains("@") != true else { throw unreadable }
        return found
    }

    /// The first parameter that libpq does not know. Before an @ a question mark is a part of the password: then none is named.
    private static func unknownParameter(of text: String) -> Substring? {
        guard let mark = text.firstIndex(of: "?"), let options = PQconndefaults() else { return nil }
        defer { PQconninfoFree(options) }
        let parameters = text[mark...].dropFirst()
        if parameters.contains("@") { return nil }
        var known: Set = ["ssl"]
        var option = options
        while let keyword = option.pointee.keyword {
            known.insert(String(cString: keyword))
            option += 1
        }
        return parameters.split(separator: "&").map { $0.prefix { $0 != "=" } }.first {
            !known.contains(String($0)) && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
        }
    }

    /// The places in lists that are divided by commas. A list of ports may have one for all.
    private static func hosts(_ found: [String: String]) -> [Host] {
        func list(_ name: String) -> [String]? {
            found[name]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let lists = [("host", list("host")), ("hostaddr", list("hostaddr")), ("port", list("port"))]
        let count = max(lists[0].1?.count ?? 0, lists[1].1?.count ?? 0)
        if count < 2 { return [] }
        // A list of another length is libpq's to refuse.
        guard
            lists.allSatisfy({ name, list in list.map { $0.count == count || name == "port" && $0.count == 1 } ?? true }
            )
        else { return [] }
        return (0..<count).map { index in
            Host(
                parameters: Dictionary(
                    uniqueKeysWithValues: lists.compactMap { name, list in
                        list.map { (name, $0.count == 1 ? $0[0] : $0[index]) }
                    }))
        }
    }

    private static func description(_ found: [String: String], _ schema: String) -> String {
        let place = (found["host"] ?? "") + (found["port"].map { ":\($0)" } ?? "")
        return "postgres://\(place)/\(found["dbname"] ?? "")" + (schema == "penstock" ? "" : "?schema=\(schema)")
    }

    /// What libpq asks of a server that is to be written: that it is no standby. Older ones ask whether the session may write, and a
    /// role may have that turned off, which a session turns on again.
    private static let writable = PQlibVersion() >= 140_000 ? "primary" : "read-write"

    /// Calls `body` with libpq's parameters. What the address says itself stands before what is said here, and so counts; but whoever
    /// writes is led to a server that can be written, whatever the address allows.
    ///
    /// - Parameter host: the one of several that is meant; `nil`: libpq asks all, one after the other.
    func withParameters<T>(
        of host: Host? = nil,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> T
    ) -> T {
        // What comes last counts.
        let parameters =
            Self.defaults + [("target_session_attrs", "any"), ("dbname", text)]
            + (host?.parameters.map { ($0, $1) } ?? [])
            + (mustBeWritable ? [("target_session_attrs", Self.writable)] : [])
        let copies = parameters.map { (strdup($0.0), strdup($0.1)) }
        defer {
            for (keyword, value) in copies {
                free(keyword)
                free(value)
            }
        }
        let keywords = copies.map { UnsafePointer($0.0) } + [nil]
        let values = copies.map { UnsafePointer($0.1) } + [nil]
        return keywords.withUnsafeBufferPointer { keywords in
            values.withUnsafeBufferPointer { values in
                // Neither is empty.
                guard let keywords = keywords.baseAddress, let values = values.baseAddress else { fatalError() }
                return body(keywords, values)
            }
        }
    }

    /// A host that vanishes is noticed in seconds.
    private static let defaults = [
        ("application_name", "penstock"), ("client_encoding", "UTF8"), ("connect_timeout", "5"),
        ("tcp_user_timeout", "5000"), ("keepalives_idle", "2"), ("keepalives_interval", "1"),
        ("keepalives_count", "3"), ("gssencmode", "disable"),
    ]
}
