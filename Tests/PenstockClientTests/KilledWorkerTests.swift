import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// `penstock work` at a server, as a process that is killed or stopped while it has a message.
@Suite(.timeLimit(.minutes(5))) struct KilledWorkerTests {
    /// Nobody sees it die: its message comes back when its lease has ended, to another worker, and that attempt has counted.
    @Test(arguments: [SIGKILL, SIGSTOP])
    func itsMessageComesBackWhenItsLeaseEnds(_ signal: Int32) async throws {
        let folder = TemporaryFolder()
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let queue = try await store.queue("mail", policy: .init())
        let server = try await TestServer.start(store, at: .unix(path: folder.file("s")))
        let receipt = try await queue.enqueue([NewMessage(payload: Array("hello".utf8))])[0]

        _ = try await Subprocess.run(
            .path(FilePath(BuiltPrograms.path("penstock"))),
            arguments: [
                "work", "mail", "--lease", "5s", "--grace", "1s", "--", "sh", "-c", "echo begun; exec sleep 60",
            ],
            environment: .inherit.updating(["PENSTOCK_DB": "unix:\(folder.file("s"))"]), input: .none,
            output: .sequence, error: .discarded
        ) { execution in
            let worker = execution.processIdentifier.value
            var output = execution.standardOutput.makeAsyncIterator()
            _ = try await output.next()
            kill(worker, signal)
            for try await delivery in queue.deliveries(inFlightMax: 1) {
                #expect(delivery.sequence == receipt.sequence && delivery.attempt == 2)
                try await delivery.done()
                break
            }
            // What was stopped finds out that its lease is lost, and does no harm.
            kill(worker, SIGCONT)
            kill(worker, SIGTERM)
        }
        let totals = try await queue.status().totals
        #expect(totals.done == 1 && totals.reclaimed == 1)
        #expect(try await queue.status().depths.leased == 0)
        await server.stop()
        try await store.close()
    }
}
