import PenstockCore
import PenstockSQL

/// Whether each connection is a session of its own, as the locks of workers and what was prepared belong to sessions.
struct SessionInspection {
    let address: ServerAddress
    /// How many connections are compared: of a pool's all lead to the few that it has.
    private static let count = 4

    func inspect(_ report: inout HealthReport) throws {
        var connections: [(server: ServerConnection, id: String)] = []
        for _ in 0..<Self.count {
            let server = try ServerConnection(address, silenceMax: .seconds(10))
            connections.append((server, try Self.id(server)))
        }
        var isShared = Set(connections.map(\.id)).count < connections.count
        // A transaction takes the server's connection that the last statement had; the next statement has another one.
        for index in connections.indices where !isShared {
            let other = connections[(index + 1) % connections.count].server
            try other.run("BEGIN")
            defer { _ = try? other.run("ROLLBACK") }
            _ = try Self.id(other)
            isShared = try Self.id(connections[index].server) != connections[index].id
        }
        if isShared {
            report.add(
                .pooled, .error,
                "Between here and the server is a pooler of transactions, which gives a session to whoever comes next, so living workers are "
                    + "taken for dead and nobody hears of new messages; connect to the server itself, or set the pooler to `pool_mode = session`."
            )
        } else if let first = connections.first, "\(first.server.processID)" != first.id {
            report.add(
                .pooled, .note,
                "Between here and the server is a pooler; it has to give each connection a session of its own (`pool_mode = session`), as it "
                    + "does now.")
        }
    }

    /// The server's process.
    private static func id(_ server: ServerConnection) throws -> String {
        try server.run("SELECT pg_backend_pid()").text(0, 0)
    }
}
