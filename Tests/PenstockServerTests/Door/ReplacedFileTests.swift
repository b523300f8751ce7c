import Foundation
import Logging
import Penstock
import PenstockCore
import PenstockFormats
import PenstockSQLite
import PenstockTestKit
import Testing

@testable import PenstockServer

/// A server whose file is no longer there: its supervisor starts it again on what is there now.
@Suite(.timeLimit(.minutes(5))) struct ReplacedFileTests {
    @Test(arguments: [false, true])
    func theServerEnds(isReadOnly: Bool) async throws {
        let (folder, time) = (TemporaryFolder(), ManualTime())
        let path = folder.file("queue.db")
        let base = try await SQLiteStore.open(path: path, options: .init(time: time))
        let reader = try await SQLiteReader.open(path: path, time: time)
        let store = PenstockStore(isReadOnly ? reader : base, options: .init(time: time))
        let server = Server(
            store: store, listen: [.unix(path: folder.file("s"))], tokens: nil, hosts: [], isReadOnly: isReadOnly,
            name: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run(gracefulShutdownSignals: []) { _ in } }
        try await time.waitForSleepers()
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        // Others sleep than the task that looks, which may only be about to.
        let passing = Task {
            while true {
                try await time.waitForSleepers()
                time.advance(by: .seconds(5))
                await giveWay()
            }
        }
        defer { passing.cancel() }
        let error = await #expect(throws: PenstockError.self) { try await running.value }
        #expect(error?.code == .fileReplaced)
        try? await reader.close()
        try? await base.close()
    }
}
