import Foundation
import PenstockCore
import Synchronization

@testable import PenstockPostgres

/// Servers for tests that harm them: they write to the disk as in production, and are stopped, killed, frozen and promoted one by one.
/// Like ``PostgresServer`` they end with the process, by whatever means that ends.
final class FaultyServers: Sendable {
    /// A server, by its name: the name of its folder and, to a primary, of the standby that it is.
    struct Node: Sendable {
        let name: String
        fileprivate let home: String

        var data: String { home + "/" + name + "/data" }
        var socketFolder: String { home + "/" + name }
        var address: String { "postgres://penstock@/postgres?host=\(socketFolder)" }
    }

    private let home: String
    /// What lies between them; `nil`: they have sockets in their folders, and nothing between them.
    let network: (any TestNetwork)?
    private let cleaning: ClosingScript

    init(_ network: (any TestNetwork)? = nil) throws {
        self.network = network
        home = "/tmp/penstock-pg-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        try ServerUser.own(home)
        cleaning = try ClosingScript(ServerUser.prefix + ["/bin/sh", "-c", Self.cleaning, home])
    }

    /// No server outlives the run, and no child of one: a backend that was stopped would stay.
    private static let cleaning = """
        read end || true
        for file in "$0"/*/data/postmaster.pid; do
            pid=$(head -n 1 "$file") || continue
            kill -9 $(ps -e -o pid= -o ppid= | awk -v parent="$pid" '$1 == parent || $2 == parent { print $1 }')
            \(forget("$file"))
        done 2> /dev/null
        rm -rf "$0"
        """

    /// Gives back the piece of the system's memory that marks a server's folder as taken: a killed server leaves it, and there can be
    /// so many. Its number is the second one of the seventh line.
    private static func forget(_ file: String) -> String {
        #"ipcrm -m "$(sed -n '7s/^ *[0-9]* *//p' "\#(file)")" 2> /dev/null || true"#
    }

    // MARK: Making them

    func node(_ name: String) -> Node { Node(name: name, home: home) }

    /// The address of several: a store that writes goes to the one that can be written.
    func address(of nodes: [Node]) -> String {
        "postgres://penstock@/postgres?host=\(nodes.map(\.socketFolder).joined(separator: ","))"
    }

    /// - Parameter options: more words for `initdb`.
    func makePrimary(_ node: Node, _ options: [String] = [], settings: [String] = []) async throws {
        try await command("mkdir", "-p", node.socketFolder)
        try await program(
            "initdb",
            ["-D", node.data, "-U", "penstock", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C"] + options)
        try await append(settings, to: "postgresql.conf", of: node)
        if network != nil {
            try await append(
                ["host all all all trust", "host replication all all trust"], to: "pg_hba.conf", of: node)
        }
        try await start(node)
    }

    /// Copies `primary`, and starts the copy as a standby of it.
    func makeStandby(_ node: Node, of primary: Node, _ options: [String] = []) async throws {
        try await command("mkdir", "-p", node.socketFolder)
        try await program(
            "pg_basebackup",
            ["-h", primary.socketFolder, "-U", "penstock", "-D", node.data, "-R", "--no-sync", "-c", "fast"] + options)
        try await follow(primary, node)
        try await start(node)
    }

    /// Has a standby that is about to start take its primary's log from where the network has that.
    private func follow(_ primary: Node, _ node: Node) async throws {
        let place = network?.place(of: primary)
        let connection =
            "host=\(place?.host ?? primary.socketFolder) port=\(place?.port ?? 5432) user=penstock application_name=\(node.name)"
        // The last line of a setting is the one that counts. Whom the primary waits for does not hold for a standby that is promoted.
        try await append(
            ["primary_conninfo = '\(connection)'", "synchronous_standby_names = ''"], to: "postgresql.auto.conf",
            of: node)
    }

    /// Makes a primary of yesterday a standby of today's: what it has more than that goes. It has to have ended.
    func rewind(_ node: Node, to primary: Node) async throws {
        // The branch of the log that began with the promotion is in the file that is compared only after that.
        try await ask(primary, "CHECKPOINT")
        try await program(
            "pg_rewind",
            [
                "-D", node.data, "--source-server", "host=\(primary.socketFolder) user=penstock dbname=postgres", "-R",
                "--no-sync",
            ])
        try await follow(primary, node)
        try await start(node)
    }

    private func append(_ lines: [String], to file: String, of node: Node) async throws {
        for line in lines { try await command("sh", "-c", "echo \"$1\" >> \"$0\"", node.data + "/" + file, line) }
    }

    func start(_ node: Node) async throws {
        do {
            try await program(
                "pg_ctl",
                [
                    "-D", node.data, "-w", "-s", "-l", node.socketFolder + "/log", "-o",
                    // Memory that its processes share lies in its folder, and goes with it, however it ends.
                    "-k \(node.socketFolder) -c listen_addresses=\(network?.listenAddress(of: node) ?? "")"
                        + " -c dynamic_shared_memory_type=mmap -c max_connections=200",
                    "start",
                ], network?.prefix(of: node) ?? [])
        } catch {
            let log = (try? String(contentsOfFile: node.socketFolder + "/log", encoding: .utf8)) ?? ""
            throw PostgresServer.Failure(description: "\(error)\(log.suffix(2000))")
        }
    }

    // MARK: Harming them

    /// Stops it as it stands: what is not on the disk is gone.
    func stopAtOnce(_ node: Node) async throws {
        try await program("pg_ctl", ["-D", node.data, "-s", "-w", "-m", "immediate", "stop"])
    }

    func stop(_ node: Node) async throws {
        try await program("pg_ctl", ["-D", node.data, "-s", "-w", "-m", "fast", "stop"])
    }

    func promote(_ node: Node) async throws {
        try await program("pg_ctl", ["-D", node.data, "-s", "-w", "promote"])
    }

    /// Kills all of its processes, as a loss of power does.
    func kill(_ node: Node) async throws {
        // Nobody has a child while it is counted. Until the last is gone, so is not the memory that they share.
        try await command(
            "sh", "-c",
            """
            parent=$(head -n 1 "$0/postmaster.pid")
            kill -STOP "$parent" 2> /dev/null
            all="$parent $(ps -e -o pid= -o ppid= | awk -v parent="$parent" '$2 == parent { print $1 }')"
            kill -KILL $all 2> /dev/null
            while ps -o stat= -p "$(echo $all | tr ' ' ,)" | grep -qv Z; do :; done
            # A machine without power would forget this as well.
            \(Self.forget("$0/postmaster.pid"))
            rm -f "$0/postmaster.pid" "$0"/../.s.PGSQL.5432*
            """, node.data)
    }

    func freeze(_ node: Node) async throws { try await signal(node, SIGSTOP) }
    func thaw(_ node: Node) async throws { try await signal(node, SIGCONT) }

    /// Kills one of its processes, after which the server takes the memory that they share for damaged and begins anew.
    func killProcess(_ id: String) async throws { try await command("kill", "-9", id) }

    private func signal(_ node: Node, _ number: Int32) async throws {
        let text = try String(contentsOfFile: node.data + "/postmaster.pid", encoding: .utf8)
        guard let postmaster = text.split(separator: "\n").first else {
            throw PostgresServer.Failure(description: "no process")
        }
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
        // Tests ask again and again: one whose time is over ends here.
        try Task.checkCancellation()
        // A standby as well.
        let address = try ServerAddress(node.address, access: .readOnly)
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

    /// Returns when the standby for which `primary` waits shows what that does.
    func catchUp(with primary: Node) async throws {
        try await ask(primary, "SET synchronous_commit = remote_apply; SELECT pg_logical_emit_message(true, '', '')")
    }

    // MARK: Programs

    private func program(_ name: String, _ arguments: [String], _ prefix: [String] = []) async throws {
        guard let programs = PostgresServer.programs else {
            throw PostgresServer.Failure(description: "There is no PostgreSQL.")
        }
        try await run([programs + "/" + name] + arguments, prefix)
    }

    func command(_ words: String...) async throws { try await run(["/usr/bin/env"] + words) }

    private func run(_ words: [String], _ prefix: [String] = []) async throws {
        // A file, and no pipe: a server that it starts keeps it for as long as that lives.
        let said = URL(filePath: home + "/said-\(UUID().uuidString)")
        try Data().write(to: said)
        let output = try FileHandle(forWritingTo: said)
        defer {
            try? output.close()
            try? FileManager.default.removeItem(at: said)
        }
        let status = try await ChildProcess(prefix + ServerUser.prefix + words, output: output, errors: output).end()
        if status != 0 {
            throw PostgresServer.Failure(
                description:
                    "\(words.joined(separator: " ")) ended with status \(status): \((try? String(contentsOf: said, encoding: .utf8)) ?? "")"
            )
        }
    }
}
