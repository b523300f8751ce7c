import Foundation
import Synchronization

@testable import PenstockPostgres

/// Servers for tests that harm them: they write to the disk as in production, and are stopped, killed, frozen and promoted one by one.
/// Like ``PostgresServer`` they end with the process, by whatever means that ends.
final class FaultyServers: Sendable {
    /// A server, by its name: the name of its folder and, to a primary, of the standby that it is.
    struct Node: Sendable {
        let name: String
        fileprivate let home: String

        fileprivate var data: String { home + "/" + name + "/data" }
        var socketFolder: String { home + "/" + name }
        var address: String { "postgres://penstock@/postgres?host=\(socketFolder)" }
    }

    private let home: String
    // Held open: the script that cleans up reads from it.
    private let keeper: Process

    init() throws {
        home = "/tmp/penstock-pg-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        if getuid() == 0, let user = getpwnam("postgres") { chown(home, user.pointee.pw_uid, user.pointee.pw_gid) }
        keeper = Self.process(["/bin/sh", "-c", Self.cleaning, home])
        keeper.standardInput = Pipe()
        try keeper.run()
    }

    /// No server outlives the run, and no child of one: a backend that was stopped would stay.
    private static let cleaning = """
        read end || true
        for file in "$0"/*/data/postmaster.pid; do
            pid=$(head -n 1 "$file") || continue
            kill -9 $(ps -e -o pid= -o ppid= | awk -v parent="$pid" '$1 == parent || $2 == parent { print $1 }')
        done 2> /dev/null
        rm -rf "$0"
        """

    deinit { (keeper.standardInput as? Pipe)?.fileHandleForWriting.closeFile() }

    // MARK: Making them

    func node(_ name: String) -> Node { Node(name: name, home: home) }

    /// The address of several, of which the one counts that can be written.
    func address(of nodes: [Node]) -> String {
        "postgres://penstock@/postgres?host=\(nodes.map(\.socketFolder).joined(separator: ","))&target_session_attrs=read-write"
    }

    func makePrimary(_ node: Node) async throws {
        try await command("mkdir", node.socketFolder)
        try await program("initdb", "-D", node.data, "-U", "penstock", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
        try await start(node)
    }

    /// Copies `primary`, and starts the copy as a standby of it.
    func makeStandby(_ node: Node, of primary: Node) async throws {
        try await command("mkdir", node.socketFolder)
        try await program("pg_basebackup", "-h", primary.socketFolder, "-U", "penstock", "-D", node.data, "-R", "--no-sync", "-c", "fast")
        let connection = "host=\(primary.socketFolder) user=penstock application_name=\(node.name)"
        // The last line of a setting is the one that counts.
        try await command(
            "sh", "-c", "echo \"primary_conninfo = '$1'\" >> \"$0\"", node.data + "/postgresql.auto.conf", connection)
        try await start(node)
    }

    func start(_ node: Node) async throws {
        try await program(
            "pg_ctl", "-D", node.data, "-w", "-s", "-l", node.socketFolder + "/log", "-o",
            "-k \(node.socketFolder) -c listen_addresses= -c max_connections=200", "start")
    }

    // MARK: Harming them

    /// Stops it as it stands: what is not on the disk is gone.
    func stopAtOnce(_ node: Node) async throws {
        try await program("pg_ctl", "-D", node.data, "-s", "-w", "-m", "immediate", "stop")
    }

    func promote(_ node: Node) async throws {
        try await program("pg_ctl", "-D", node.data, "-s", "-w", "promote")
    }

    /// Kills all of its processes, as a loss of power does.
    func kill(_ node: Node) async throws {
        try await signal(node, SIGKILL)
        try await command("rm", "-f", node.data + "/postmaster.pid")
    }

    func freeze(_ node: Node) async throws { try await signal(node, SIGSTOP) }
    func thaw(_ node: Node) async throws { try await signal(node, SIGCONT) }

    /// Kills one of its processes, after which the server takes the memory that they share for damaged and begins anew.
    func killProcess(_ id: String) async throws { try await command("kill", "-9", id) }

    private func signal(_ node: Node, _ number: Int32) async throws {
        let text = try String(contentsOfFile: node.data + "/postmaster.pid", encoding: .utf8)
        guard let postmaster = text.split(separator: "\n").first else { throw PostgresServer.Failure(description: "no process") }
        try await command(
            "sh", "-c",
            """
            kill -$1 $0
            kill -$1 $(ps -e -o pid= -o ppid= | awk -v parent="$0" '$2 == parent { print $1 }') 2> /dev/null || true
            """, String(postmaster), String(number))
    }

    // MARK: Asking them

    /// Runs statements, and gives the first column of what the last one has found.
    @discardableResult
    func ask(_ node: Node, _ sql: String) async throws -> [String] {
        let address = try ServerAddress(node.address)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let found = try ServerConnection(address).run(sql)
                        return (0..<found.rowCount).map { String(decoding: found.bytes($0, 0), as: UTF8.self) }
                    })
            }
        }
    }

    // MARK: Programs

    private func program(_ name: String, _ arguments: String...) async throws {
        guard let programs = PostgresServer.programs else { throw PostgresServer.Failure(description: "There is no PostgreSQL.") }
        try await run([programs + "/" + name] + arguments)
    }

    private func command(_ words: String...) async throws { try await run(["/usr/bin/env"] + words) }

    /// Closes what is open beside the first three. Foundation sees the end of a process by such a descriptor, and a server that
    /// the process has started would keep it.
    private static let closing = """
        for file in /dev/fd/*; do
            number=${file##*/}
            if [ "$number" -gt 2 ]; then eval "exec $number>&-"; fi
        done
        exec "$@"
        """

    private func run(_ words: [String]) async throws {
        let process = Self.process(["/bin/bash", "-c", Self.closing, "bash"] + words)
        // A server that it starts keeps what it is given for as long as it lives.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        if status != 0 { throw PostgresServer.Failure(description: "\(words.joined(separator: " ")) ended with status \(status)") }
    }

    /// A server does not run as root, and nobody else may signal it.
    private static func process(_ words: [String]) -> Process {
        let process = Process()
        let words = getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + words : words
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.currentDirectoryURL = URL(filePath: "/tmp")
        return process
    }
}
