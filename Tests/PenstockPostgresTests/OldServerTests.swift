import Foundation
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// A server that is older than what the store's statements are written for.
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

    @Test(arguments: [("9.6.24", 9), ("11.22", 11), ("12.20", 12)])
    func isRefusedBeforeAnythingIsAskedOfIt(_ version: String, _ release: Int) async throws {
        let folder = TemporaryFolder()
        let listener = try StreamSocket.listening(at: .path(folder.file(".s.PGSQL.5432")))
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
                url: "postgres://mill@/shop?host=\(folder.path)", options: PostgresStore.Options(access: .readOnly))
        }
        #expect(error?.code == .invalidInput)
        #expect(
            error?.message.hasSuffix("is PostgreSQL \(release), and Penstock needs 13 or newer.") == true,
            "\(String(describing: error))")
    }
}
