import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

private let roundCount = max(1, Int(ProcessInfo.processInfo.environment["PENSTOCK_FAILOVER_ROUNDS"] ?? "") ?? 5)

/// Rounds of load, fault, promotion and change of places, on a primary and a standby that it waits for. The seed chooses the faults.
///
/// `PENSTOCK_FAILOVER_ROUNDS` says how many rounds there are, `PENSTOCK_PROOF_SEED` repeats the choices: `tools/torture --failovers`.
@Suite(
    .serialized, .timeLimit(.minutes(roundCount)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct FailoverRoundTests {
    private enum Fault: String, CaseIterable {
        case killsPrimary, cutsLink, freezesPrimary, fillsLog, killsBackend, losesStandby, endsSessions

        /// Whether no worker can have done anything twice.
        var isHarmless: Bool { self == .losesStandby || self == .endsSessions }
    }

    @Test func acceptedOutlivesEveryFailover() async throws {
        try await run(roundCount, try await FailoverPair(makeTestNetwork()), Fault.allCases)
    }

    /// On every machine, whatever it allows.
    @Test func acceptedOutlivesALinkThatGoesDown() async throws {
        try await run(1, try await FailoverPair(RelayNetwork()), [.cutsLink])
    }

    private func run(_ roundCount: Int, _ pair: FailoverPair, _ faults: [Fault]) async throws {
        let text = ProcessInfo.processInfo.environment["PENSTOCK_PROOF_SEED"] ?? ""
        let random = SeededRandom(seed: UInt64(text) ?? UInt64.random(in: 1...UInt64(UInt32.max)))
        let comment: Comment = "PENSTOCK_PROOF_SEED=\(random.seed) PENSTOCK_FAILOVER_ROUNDS=\(roundCount)"
        if faults.contains(.fillsLog), !pair.canFillLog {
            print("    This machine lets nobody mount a small disk: none is filled.")
        }
        let load = try await FaultLoad(pair.address, stores: 3, busyMax: .seconds(8))
        try await pair.catchUp()
        let followers = [
            "a follower": try await FaultFollower(pair.address, load.queue),
            "a follower of any server": try await FaultFollower(
                pair.network.address(of: [pair.standby, pair.primary], attributes: "any"), load.queue, access: .readOnly
            ),
        ]
        // A real one, which has to go on by itself through all of it.
        let worker = try RunningTool(
            [
                "work", load.queue.text, "--concurrency", "2", "--lease", "8s", "--", "sh", "-c",
                "read -r line; echo $line",
            ],
            at: pair.address)
        worker.lines.closeWriteEnd()
        let begun = Tally()
        var recoveries: [FailoverPair.Recovery] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while let payload = await worker.lines.next() {
                    begun.add()
                    load.ledger.note { $0.worked[payload, default: 0] += 1 }
                }
            }
            defer { worker.send(SIGTERM) }
            for follower in followers.values { group.addTask { await follower.run() } }
            defer { for follower in followers.values { follower.end() } }
            try await load.run {
                // It goes on through what happens to its server, and not to a start that finds none.
                try await begun.wait(for: 1)
                var left: [Fault] = []
                for round in 1...roundCount {
                    if left.isEmpty { left = faults.filter { $0 != .fillsLog || pair.canFillLog } }
                    let fault = left.remove(at: random.next(in: 0...(left.count - 1)))
                    var recovery = try await play(fault, pair, load, random, comment)
                    recoveries.append(recovery)
                    // What is asked is Penstock's part; a machine with too much to do is given more chances.
                    for _ in 1...3 where recovery.sincePromotion >= .seconds(2) {
                        recovery = try await play(fault, pair, load, random, comment)
                        recoveries.append(recovery)
                    }
                    print(
                        "    round \(round), \(fault): the first receipt \(recovery.sincePromotion) after the promotion"
                    )
                    #expect(recovery.sincePromotion < .seconds(2), "\(fault) in round \(round) \(comment)")
                }
            }
        }
        #expect(await worker.end() == 0, "the worker \(comment)")
        let found = try await load.check(comment) { try await pair.servers.ask(pair.primary, $0) }
        for (name, follower) in followers { follower.check(found, name, comment) }
        tell(recoveries)
    }

    private func tell(_ recoveries: [FailoverPair.Recovery]) {
        for (name, times) in [
            ("after the promotion", recoveries.map(\.sincePromotion)),
            ("after the promotion's beginning", recoveries.map(\.sinceBeginning)),
        ] {
            let times = times.sorted()
            func part(_ share: Double) -> Duration { times[min(times.count - 1, Int(Double(times.count) * share))] }
            print(
                "    the first receipt \(name), in \(times.count) rounds: least \(part(0)), half \(part(0.5)), nine of ten \(part(0.9)), most \(part(1))"
            )
        }
    }

    /// One round. Afterwards the two have changed places.
    private func play(
        _ fault: Fault, _ pair: FailoverPair, _ load: FaultLoad, _ random: SeededRandom, _ comment: Comment
    ) async throws -> FailoverPair.Recovery {
        let servers = pair.servers
        let (old, standby, ledger) = (pair.primary, pair.standby, load.ledger)
        let sessions = "FROM pg_stat_activity WHERE application_name = 'penstock' AND pid <> pg_backend_pid()"
        var recovery: FailoverPair.Recovery?
        let before = ledger.now.receipts
        switch fault {
        case .killsPrimary:
            try await servers.kill(old)
        case .cutsLink:
            try await pair.network.unplug(old)
            recovery = try await pair.promote(ledger)
            // It comes back in the belief that it is the primary still, and has those who do not know better write.
            try await pair.network.plug(old)
            if random.chance(0.5) { await ledger.waitForReceipts(30) }
            try await servers.kill(old)
        case .freezesPrimary:
            try await servers.freeze(old)
            recovery = try await pair.promote(ledger)
            if random.chance(0.5) {
                try await servers.thaw(old)
                await ledger.waitForReceipts(30)
            }
            try await servers.kill(old)
        case .fillsLog:
            try await pair.fillLog()
            try await servers.kill(old)
        case .killsBackend:
            let ids = try await servers.ask(old, "SELECT pid \(sessions) ORDER BY pid")
            try await servers.killProcess(ids[random.next(in: 0...(ids.count - 1))])
        case .losesStandby:
            try await servers.kill(standby)
            // What need not be there goes on.
            await ledger.waitForReceipts(30)
            try await servers.start(standby)
            try await pair.waitForStandby()
        case .endsSessions:
            for id in try await servers.ask(old, "SELECT pid \(sessions) ORDER BY pid") {
                try await servers.ask(old, "SELECT pg_terminate_backend(\(id))")
            }
        }
        if recovery == nil, [.killsBackend, .losesStandby, .endsSessions].contains(fault) {
            await ledger.waitForReceipts(60)
            if fault.isHarmless { try await checkOnce(before, load, "\(fault) \(comment)") }
            // In good order, or as it stands.
            if random.chance(0.5) { try await servers.stop(old) } else { try await servers.kill(old) }
        }
        let first = if let recovery { recovery } else { try await pair.promote(ledger) }
        pair.emptyLog()
        try await pair.rewind()
        await ledger.waitForReceipts(60)
        return first
    }

    /// Where nothing was killed that holds what was written, each message was worked once.
    private func checkOnce(
        _ before: [String: Receipt], _ load: FaultLoad, _ comment: Comment
    ) async throws {
        let accepted = Set(load.ledger.now.receipts.keys).subtracting(before.keys)
        await load.ledger.wait { state in accepted.allSatisfy { state.worked[$0] != nil } }
        let now = load.ledger.now
        let often = accepted.filter { now.worked[$0] != 1 }
        #expect(often.isEmpty, "worked more than once: \(often) \(comment)")
    }
}
