import Foundation
import Synchronization

/// A PostgreSQL server of the tests' own, on a socket in a folder of its own. One serves the whole run; it ends with the process, by
/// whatever means that ends.
final class PostgresServer: Sendable {
    /// The server of this run, which the first test that asks starts.
    static let shared = Result { try PostgresServer() }

    /// Where its programs are; `nil`: this machine has none.
    static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders =
            versions.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" } + [
                "/opt/homebrew/bin", "/usr/local/bin",
            ]
        return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    /// Where its socket is.
    var socketFolder: String { folder }
    private let folder: String
    private let running: ClosingScript

    /// In memory, where there is room: each test makes the files of a hundred tables and indexes, and removes them.
    private static var disk: String {
        let bytes = (try? FileManager.default.attributesOfFileSystem(forPath: "/dev/shm")[.systemFreeSize]) as? Int
        return (bytes ?? 0) > 4 << 30 ? "/dev/shm" : "/tmp"
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private init() throws {
        guard let programs = Self.programs else {
            throw Failure(description: "There is no PostgreSQL on this machine.")
        }
        folder = "\(Self.disk)/penstock-pg-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try ServerUser.own(folder)
        let output = Pipe()
        running = try ClosingScript(
            ServerUser.prefix + ["/bin/sh", "-c", Self.script, programs, folder], output: output.fileHandleForWriting)
        output.fileHandleForWriting.closeFile()
        guard output.fileHandleForReading.availableData == Data("ready\n".utf8) else {
            throw Failure(description: "The server did not start; its log is in \(folder).")
        }
    }

    private static let script = """
        set -e
        "$0/initdb" -D "$1/data" -U penstock -A trust --no-sync -E UTF8 --locale C > "$1/log" 2>&1
        "$0/pg_ctl" -D "$1/data" -w -s -l "$1/log" -o "-k $1 -c listen_addresses= -c fsync=off -c max_wal_size=256MB -c max_connections=500" start >&2
        echo ready
        read end || true
        "$0/pg_ctl" -D "$1/data" -s -m immediate stop
        rm -rf "$1"
        """

    var socketPath: String { folder + "/.s.PGSQL.5432" }

    /// The address of a schema there.
    func url(database: String = "postgres", schema: String = "penstock") -> String {
        "postgres://penstock@/\(database)?host=\(folder)&schema=\(schema)"
    }

    /// The address of a schema that nobody has, at the server of this run.
    static func newURL() throws -> String { try shared.get().url(schema: newName()) }

    private static let nameCount = Mutex(0)

    /// A name that no schema and no database has.
    static func newName() -> String {
        let number = nameCount.withLock { count in
            count += 1
            return count
        }
        return "test_\(number)"
    }
}
