import Foundation

/// A PgBouncer of a test's own, in front of the tests' server.
final class Pooler {
    /// Where its program is; `nil`: this machine has none.
    static let program: String? = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let folder: String
    private let running: ClosingScript

    /// - Parameter mode: `session` or `transaction`.
    init(_ mode: String, serverFolder: String) throws {
        guard let program = Self.program else { throw PostgresServer.Failure(description: "There is no PgBouncer.") }
        folder = "/tmp/penstock-pool-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let settings = """
            [databases]
            postgres = host=\(serverFolder)
            [pgbouncer]
            listen_addr =
            unix_socket_dir = \(folder)
            listen_port = 6432
            auth_type = trust
            auth_file = \(folder)/users
            pool_mode = \(mode)
            default_pool_size = 20
            logfile = \(folder)/log
            pidfile = \(folder)/pid

            """
        try settings.write(toFile: folder + "/settings", atomically: false, encoding: .utf8)
        try "\"penstock\" \"\"\n".write(toFile: folder + "/users", atomically: false, encoding: .utf8)
        try ServerUser.own(folder)
        running = try ClosingScript(
            ServerUser.prefix + ["/bin/bash", "-c", Self.script, program, folder + "/settings"])
    }

    private static let script = """
        "$0" -q "$1" &
        read end || true
        kill -9 $!
        rm -rf "${1%/settings}"
        """

    func url(schema: String) -> String { "postgres://penstock@/postgres?host=\(folder)&port=6432&schema=\(schema)" }
}
