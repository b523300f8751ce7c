import Foundation
import PenstockTestKit
import Testing

/// Connections are open files: a server takes no more than its process may have.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ConnectionCountTests {
    @Test func aServerOutlivesMoreConnectionsThanItMayHaveFiles() async throws {
        let folder = TemporaryFolder()
        let log = folder.file("log")
        try await ServerProcess.run(in: folder, filesMax: 200, log: log) { server in
            try await server.send("PUT", "/v1/queues/q")
            let clients = try (1...200).map { _ in try server.client() }
            // Those that are first in line are served, and go on to be, while the others wait.
            for _ in 1...20 {
                for client in clients.prefix(20) {
                    try client.request("GET", "/v1/queues/q")
                    #expect(try await client.receive(until: "depths").contains("200 OK"))
                }
            }
            withExtendedLifetime(clients) {}
        }
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(said.contains("each address takes 40 connections at a time"), "\(said)")
    }

    @Test func tooFewFilesAreSaid() async throws {
        let folder = TemporaryFolder()
        try await ServerProcess.run(in: folder) { _ in }
        let ended = try await ServerProcess.refused(in: folder, options: [], filesMax: 100)
        #expect(ended.errors.contains("raise the bound with `ulimit -n`"), "\(ended.errors)")
    }
}
