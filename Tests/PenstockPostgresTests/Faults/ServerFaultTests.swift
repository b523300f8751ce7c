import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What stays true when a server is harmed under load. `PENSTOCK_PROOF_SCALE` multiplies the rounds, `PENSTOCK_PROOF_SEED` repeats
/// the choices.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ServerFaultTests {
    private enum Fault: CaseIterable {
        case endsSessions, killsBackend, stopsAtOnce, freezes
    }

    @Test func acceptedIsThereOnceWhateverHappensToTheServer() async throws {
        let environment = ProcessInfo.processInfo.environment
        let scale = max(1, Int(environment["PENSTOCK_PROOF_SCALE"] ?? "") ?? 1)
        let random = SeededRandom(seed: UInt64(environment["PENSTOCK_PROOF_SEED"] ?? "") ?? UInt64.random(in: 1...UInt64(UInt32.max)))
        let comment: Comment = "PENSTOCK_PROOF_SEED=\(random.seed)"
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        let load = try await FaultLoad(node.address, stores: 3, busyMax: .seconds(4))
        try await load.run {
            for _ in 0..<scale {
                var left = Fault.allCases
                while !left.isEmpty {
                    try await harm(node, left.remove(at: random.next(in: 0...(left.count - 1))), servers, load.ledger, random)
                    await load.ledger.waitForReceipts(60)
                }
            }
        }
        try await load.check(comment) { try await servers.ask(node, $0) }
    }

    private func harm(
        _ node: FaultyServers.Node, _ fault: Fault, _ servers: FaultyServers, _ ledger: FaultLedger, _ random: SeededRandom
    ) async throws {
        let sessions = "FROM pg_stat_activity WHERE application_name = 'penstock' AND pid <> pg_backend_pid()"
        switch fault {
        case .endsSessions:
            try await servers.ask(node, "SELECT pg_terminate_backend(pid) \(sessions)")
        case .killsBackend:
            let ids = try await servers.ask(node, "SELECT pid \(sessions) ORDER BY pid")
            try await servers.killProcess(ids[random.next(in: 0...(ids.count - 1))])
        case .stopsAtOnce:
            try await servers.stopAtOnce(node)
            try await servers.start(node)
        case .freezes:
            try await servers.freeze(node)
            // Until somebody was told.
            let failures = ledger.now.failures.values.reduce(0, +)
            await ledger.wait { $0.failures.values.reduce(0, +) > failures }
            try await servers.thaw(node)
        }
    }
}
