import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// A process that dies at each point of a handler with steps.
@Suite(.timeLimit(.minutes(5))) struct StepCrashTests {
    let the = Fixture()

    struct Died: Error {}

    /// Where in a step a process dies.
    enum Point: CaseIterable {
        case beforeTheEffect, afterTheEffect, afterTheRecord
    }

    @Test(arguments: Point.allCases, 1...4)
    func aStepIsTakenAgainOnlyWhenItsRecordWasNotMade(point: Point, dying: Int) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let effects = Mutex<[Int]>([])

        let first = the.otherProcess()
        _ = try? await Worker(try await first.queue("q", of: Int.self), options: .init(drain: true)) { delivery in
            for number in 1...4 {
                if number == dying, point == .beforeTheEffect { try await the.database.crash(first.storage) }
                try await delivery.step("step \(number)") {
                    // A process that is dead does nothing any more.
                    if number == dying, point == .beforeTheEffect { throw Died() }
                    effects.withLock { $0.append(number) }
                    if number == dying, point == .afterTheEffect { try await the.database.crash(first.storage) }
                }
                if number == dying { try await the.database.crash(first.storage) }
                if number == dying { throw Died() }
            }
        }.run()
        #expect(try await the.state(receipt) == .leased)

        try await the.drain(queue) { delivery in
            for number in 1...4 {
                try await delivery.step("step \(number)") { effects.withLock { $0.append(number) } }
            }
        }
        let twice = point == .afterTheEffect ? [dying] : []
        let before = (1...4).filter { $0 < dying || $0 == dying && point != .beforeTheEffect }
        #expect(effects.withLock { $0 } == before + twice + (1...4).filter { !before.contains($0) })
        #expect(try await the.state(receipt) == .done)
        #expect(
            try await the.store.journal(of: receipt.sequence).steps.map(\.name.text) == (1...4).map { "step \($0)" })
    }

    @Test func anAttemptThatWasOvertakenRecordsNothing() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let (begun, goOn) = (Latch(), Latch())
        let slow = Task { [the] in
            for try await delivery in queue.deliveries(lease: .seconds(1)) {
                return await the.code {
                    _ = try await delivery.step("s") { () -> String in
                        begun.open()
                        try await goOn.wait()
                        return "slow"
                    }
                }
            }
            return nil as PenstockError.Code?
        }
        try await begun.wait()
        the.time.advance(by: .seconds(2))
        let other = the.otherProcess()
        _ = try await other.storage.reclaim()
        try await Worker(try await other.queue("q", of: Int.self), options: .init(drain: true)) { delivery in
            let given = try await delivery.step("s") { "fast" }
            #expect(given == "fast")
        }.run()
        goOn.open()
        #expect(try await slow.value == .leaseLost)
        let steps = try await the.store.journal(of: receipt.sequence).steps
        #expect(steps.map { String(decoding: $0.result, as: UTF8.self) } == [#""fast""#])
    }
}
