import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// `penstock work` at a server, as a process that is told to stop while it has a message.
@Suite(.timeLimit(.minutes(5))) struct StoppedWorkerTests {
    /// Its command has ended, and the queue that the message goes on to is full. Once the grace is over it is given back, as at the file
    /// itself: no attempt has counted, and nobody waits for a lease to end.
    @Test func whatWaitsForRoomIsGivenBack() async throws {
        let folder = TemporaryFolder()
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let source = try await store.queue("source", of: String.self)
        let full = try await store.queue(
            "full", of: String.self, policy: QueuePolicy(capacity: Capacity(1, whenFull: .wait)))
        try await full.enqueue("first")
        let receipt = try await source.enqueue("hello")
        let server = try await TestServer.start(store, at: .unix(path: folder.file("s")))

        // The grace is longer than a worker with nothing in its hands takes to end.
        let command = [
            "work", "source", "--into", "full", "--grace", "3s", "--", "sh", "-c", "cat; echo begun >&2",
        ]
        let end = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: Arguments(["-c", "exec \"$0\" \"$@\" 2>&1", BuiltPrograms.path("penstock")] + command),
            environment: .inherit.updating(["PENSTOCK_DB": "unix:\(folder.file("s"))"]), input: .none,
            output: .sequence, error: .discarded
        ) { execution in
            let worker = execution.processIdentifier.value
            for try await line in execution.standardOutput.strings() where line.contains("begun") {
                kill(worker, SIGTERM)
            }
        }
        #expect(end.terminationStatus == .exited(0))
        let status = try await source.status()
        #expect(status.depths.ready == 1 && status.depths.leased == 0)
        #expect(try await store.message(receipt.sequence).attempt == 0)
        await server.stop()
        try await store.close()
    }

    /// Nobody sees there that its process is gone.
    @Test func withoutItsServerItSaysWhenItsMessagesComeBack() async throws {
        let folder = TemporaryFolder()
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let queue = try await store.queue("mail", of: String.self)
        try await queue.enqueue("hello")
        let server = try await TestServer.start(store, at: .unix(path: folder.file("s")))
        let command = ["work", "mail", "--grace", "100ms", "--", "sh", "-c", "echo begun; exec sleep 1000"]
        let end = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: Arguments(["-c", "exec \"$0\" \"$@\" 2>&1", BuiltPrograms.path("penstock")] + command),
            environment: .inherit.updating(["PENSTOCK_DB": "unix:\(folder.file("s"))"]), input: .none,
            output: .sequence, error: .discarded
        ) { execution in
            let worker = execution.processIdentifier.value
            var said = ""
            for try await line in execution.standardOutput.strings() {
                said += line
                guard line.contains("begun") else { continue }
                await server.stop()
                kill(worker, SIGTERM)
            }
            return said
        }
        #expect(end.terminationStatus == .exited(75))
        let sentence =
            "the server does not take what became of the messages in hand, so they come back when their leases have ended."
        #expect(end.closureResult.contains(sentence), "\(end.closureResult)")
        try await store.close()
    }
}
