import Foundation

/// A PgBouncer of a test's own, in front of the tests' server.
final class Pooler {
    /// Where its program is; `nil`: this machine has none.
    static let program: String? = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let folder: String
    // Held open: the script that runs the pooler reads from it, and stops the pooler at its end, by whatever means that comes.
    private let input = Pipe()
    private let process = Process()

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
        var words = ["/bin/bash", "-c", Self.script, program, folder + "/settings"]
        // It does not run as root.
        if getuid() == 0, let user = getpwnam("postgres") {
            chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
            words = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + words
        }
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// What is open beside the first three may be the pipe of another pooler, which would not end with its test. Signals that may be
    /// ignored are, as the threads of tests have them blocked.
    private static let script = """
        for file in /dev/fd/*; do
            number=${file##*/}
            if [ "$number" -gt 2 ]; then eval "exec $number>&-"; fi
        done
        "$0" -q "$1" &
        read end || true
        kill -9 $!
        """

    deinit {
        input.fileHandleForWriting.closeFile()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func url(schema: String) -> String { "postgres://penstock@/postgres?host=\(folder)&port=6432&schema=\(schema)" }
}
