import PenstockCore
import PenstockSQL
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockPostgres

/// Stores that are used while their servers are harmed: producers, and workers that claim, settle and look for lost work.
final class FaultLoad: Sendable {
    let queue: QueueName
    let ledger = FaultLedger()
    private let stores: [PostgresStore]
    private let busyMax: Duration
    private let isOver = Mutex((producing: false, working: false))

    init(_ url: String, stores count: Int, busyMax: Duration) async throws {
        queue = try QueueName("mail")
        var stores: [PostgresStore] = []
        for _ in 0..<count {
            var options = PostgresStore.Options()
            options.busyMax = busyMax
            stores.append(try await PostgresStore.open(url: url, options: options))
        }
        try await stores[0].configure(queue, .create(QueuePolicy(), ifAbsent: true))
        self.stores = stores
        self.busyMax = busyMax
    }

    /// Runs `harm` while everything is used, and returns when each message that was accepted has been worked.
    func run(_ harm: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask { await self.produce(store, "\(index)a", .powerLoss) }
                group.addTask { await self.produce(store, "\(index)b", .powerLoss) }
                group.addTask { await self.produce(store, "\(index)c", .processCrash) }
                group.addTask { await self.work(store) }
            }
            let failure: (any Error)?
            do {
                await ledger.waitForReceipts(50)
                try await harm()
                await ledger.waitForReceipts(50)
                failure = nil
            } catch {
                failure = error
            }
            isOver.withLock { $0.producing = true }
            if failure == nil {
                await ledger.wait { state in
                    state.receipts.allSatisfy { $0.value.durability != .powerLoss || state.worked[$0.key] != nil }
                }
            }
            isOver.withLock { $0.working = true }
            try await group.waitForAll()
            if let failure { throw failure }
        }
        for store in stores { try await store.close() }
    }

    private func produce(_ store: PostgresStore, _ name: String, _ durability: Durability) async {
        var number = 0
        while !isOver.withLock({ $0.producing }) {
            number += 1
            let payload = "\(name)-\(number)"
            let start = ContinuousClock.now
            do {
                let receipt = try await store.enqueue(
                    [NewMessage(payload: Array(payload.utf8))], to: queue, durability: durability)[0]
                ledger.note { state in
                    state.receipts[payload] = receipt
                    if durability == .powerLoss { state.flushedCount += 1 }
                }
            } catch {
                let isUnknown = (error as? PenstockError)?.code == .outcomeUnknown
                ledger.note { state in
                    if isUnknown { state.unknown.insert(payload) } else { state.refused.insert(payload) }
                }
                ledger.note(error)
            }
            ledger.noteCall(since: start)
        }
    }

    private func work(_ store: PostgresStore) async {
        while !isOver.withLock({ $0.working }) {
            let start = ContinuousClock.now
            do {
                let claim = try await store.claim(ClaimRequest(queue: queue, limit: 32, lease: .seconds(8)))
                let payloads = claim.messages.map { String(decoding: $0.payload, as: UTF8.self) }
                ledger.note { state in for payload in payloads { state.worked[payload, default: 0] += 1 } }
                let results = try await store.settle(claim.messages.map { Settlement($0.lease, .done) })
                ledger.note { state in
                    for (payload, result) in zip(payloads, results) where result == .settled(.done) {
                        state.settled.insert(payload)
                    }
                }
                _ = try await store.reclaim()
            } catch {
                ledger.note(error)
            }
            ledger.noteCall(since: start)
        }
    }

    /// Holds what callers were told against what is there.
    ///
    /// - Parameter ask: runs a statement, and gives the first column.
    /// - Returns: the log: payloads by their numbers.
    @discardableResult
    func check(_ comment: Comment, ask: (String) async throws -> [String]) async throws -> [Int64: String] {
        let told = ledger.now
        var found: [String: [Int64]] = [:]
        for row in try await ask("SELECT sequence || ' ' || convert_from(payload, 'UTF8') FROM penstock.penstock_log") {
            let parts = row.split(separator: " ")
            found[String(parts[1]), default: []].append(Int64(parts[0]) ?? 0)
        }
        for (payload, receipt) in told.receipts where receipt.durability == .powerLoss {
            #expect(found[payload] == [receipt.sequence.rawValue], "\(payload) \(comment)")
        }
        for (payload, sequences) in found {
            #expect(sequences.count == 1, "\(payload) is there \(sequences.count) times \(comment)")
            #expect(!told.refused.contains(payload), "\(payload) was refused, and is there \(comment)")
        }
        // Also among those that were told of and lost.
        let given = told.receipts.values.map(\.sequence)
        #expect(Set(given).count == given.count, "a number was given twice \(comment)")
        // No worker died. An attempt ended by its lease only where the store has lost a verdict.
        let ends = try await ask(
            """
            SELECT attempt.outcome || ' ' || convert_from(log.payload, 'UTF8') FROM penstock.penstock_attempt AS attempt
            JOIN penstock.penstock_log AS log USING (sequence)
            """)
        for end in ends {
            let parts = end.split(separator: " ").map(String.init)
            #expect(parts[0] == "leaseExpired", "\(end) \(comment)")
        }
        // What a call may be late by: the work of a transaction that began just in time, and a look at what came of it.
        #expect(told.slowestCall < busyMax + .seconds(30), "\(told.slowestCall) \(comment)")
        print(
            "    \(told.receipts.count) receipts, \(told.unknown.count) unknown, \(told.refused.count) refused, slowest call \(told.slowestCall)"
        )
        for (word, count) in told.failures.sorted(by: { $0.key < $1.key }) { print("    \(count) x \(word)") }
        return Dictionary(found.flatMap { payload, sequences in sequences.map { ($0, payload) } }) { first, _ in first }
    }
}
