import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization
import Testing

@testable import PenstockPostgres

/// A server of another release than the one that is here, which may be older than what the store's statements are written for.
@Suite(.timeLimit(.minutes(1))) struct OldServerTests {
    /// It lets everybody in, says which release it is of, and answers nothing.
    ///
    /// Source: PostgreSQL's manual, "Message Formats" of "Frontend/Backend Protocol".
    private static func greeting(_ version: String) -> [UInt8] {
        func message(_ kind: String, _ body: [UInt8]) -> [UInt8] {
            let length = UInt32(body.count + 4).bigEndian
            return Array(kind.utf8) + withUnsafeBytes(of: length) { Array($0) } + body
        }
        func texts(_ texts: String...) -> [UInt8] { texts.flatMap { Array($0.utf8) + [0] } }
        return message("R", [0, 0, 0, 0]) + message("S", texts("server_version", version))
            + message("S", texts("client_encoding", "UTF8")) + message("K", [0, 0, 0, 1, 0, 0, 0, 2])
            + message("Z", Array("I".utf8))
    }

    /// A folder with a short path: a socket's has 104 bytes at most, and a temporary folder's may have most of them.
    private static func makeFolder() throws -> String {
        let folder = "/tmp/penstock-old-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        return folder
    }

    @Test(arguments: [("9.6.24", 9), ("11.22", 11), ("12.20", 12)])
    func isRefusedBeforeAnythingIsAskedOfIt(_ version: String, _ release: Int) async throws {
        let folder = try Self.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let listener = try StreamSocket.listening(at: .path(folder + "/.s.PGSQL.5432"))
        defer { listener.close() }
        Thread.detachNewThread {
            guard let client = listener.accepted(timeout: .seconds(30)) else { return }
            defer { client.close() }
            _ = client.read(10_000)
            client.write(Self.greeting(version))
            // Until it hangs up: what it asks has no answer.
            while !client.read(10_000).isEmpty {}
        }
        let error = await #expect(throws: PenstockError.self) {
            _ = try await PostgresStore.open(
                url: "postgres://mill@/shop?host=\(folder)", options: PostgresStore.Options(access: .readOnly))
        }
        #expect(error?.code == .invalidInput)
        #expect(
            error?.message.hasSuffix("is PostgreSQL \(release), and Penstock needs 13 or newer.") == true,
            "\(String(describing: error))")
    }

    /// All that it knows goes with the first thing that it is asked, as each connect at a failover waits for each answer.
    @Test(arguments: [("13.9", [] as [String]), ("16.4", ["idle_session"]), ("17.2", ["idle_session", "transaction"])])
    func isToldOfTheTimeoutsThatItKnows(_ version: String, _ known: [String]) throws {
        let folder = try Self.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let listener = try StreamSocket.listening(at: .path(folder + "/.s.PGSQL.5432"))
        defer { listener.close() }
        let asked = Mutex("")
        Thread.detachNewThread {
            guard let client = listener.accepted(timeout: .seconds(30)) else { return }
            defer { client.close() }
            _ = client.read(10_000)
            client.write(Self.greeting(version))
            let first = String(decoding: client.read(10_000), as: UTF8.self)
            asked.withLock { $0 = first }
        }
        let address = try ServerAddress("postgres://mill@/shop?host=\(folder)", access: .readOnly)
        #expect(throws: ServerError.self) { _ = try Sessions.connect(to: address, busyMax: .seconds(1)) }
        let first = asked.withLock { $0 }
        #expect(first.contains("SET statement_timeout = 0"))
        for name in ["idle_session", "transaction"] {
            #expect(first.contains("SET \(name)_timeout = 0") == known.contains(name), "\(name)_timeout in \(first)")
        }
    }
}
