import PenstockCore
import Testing

@testable import Penstock

@Suite struct LogStagingTests {
    private func append(
        _ staging: inout LogStaging, _ text: String, isHandedOver: Bool = false
    ) -> (name: LogStaging.Name, mustBegin: Bool) {
        let name = staging.newName()
        let message = NewMessage(payload: Array(text.utf8))
        return (name, staging.add(.init(name: name, message: message, isHandedOver: isHandedOver) { _ in }))
    }

    private func text(_ step: LogStaging.Step?) -> String {
        switch step {
        case nil: "nothing"
        case .append(let appends): appends.map { String(decoding: $0.message.payload, as: UTF8.self) }.joined()
        case .beginning(let count, let waiters): "beginning \(count) x\(waiters.count)"
        case .perform: "perform"
        }
    }

    @Test func oneBeginsAndNeighboursGoTogether() {
        var staging = LogStaging()
        #expect(append(&staging, "a").mustBegin == true)
        #expect(append(&staging, "b").mustBegin == false)
        #expect(staging.add(Waiter<LogBeginning>(), last: 2) == false)
        #expect(staging.add(Waiter<LogBeginning>(), last: 2) == false)
        #expect(staging.add(Waiter<LogBeginning>(), last: 3) == false)
        _ = append(&staging, "c")
        let mustBegin = staging.add {}
        #expect(!mustBegin)
        _ = append(&staging, "d")
        var steps: [String] = []
        while let step = staging.next() { steps.append(text(step)) }
        #expect(steps == ["ab", "beginning 2 x2", "beginning 3 x1", "c", "perform", "d"])
        #expect(append(&staging, "e").mustBegin == true, "The work was over.")
    }

    @Test func batchesAreBounded() {
        var staging = LogStaging()
        for _ in 1...2500 { _ = append(&staging, "x") }
        var counts: [Int] = []
        for _ in 1...3 { counts.append(text(staging.next()).count) }
        #expect(counts == [1000, 1000, 500])
        let large = String(repeating: "y", count: 5 * 1024 * 1024)
        for _ in 1...2 { _ = append(&staging, large) }
        #expect(text(staging.next()).count == large.count)
        #expect(text(staging.next()).count == large.count)
        #expect(text(staging.next()) == "nothing")
    }

    @Test func whatNobodyHasBegunWithCanBeTakenBack() {
        var staging = LogStaging()
        let first = append(&staging, "a").name
        let second = append(&staging, "b", isHandedOver: true).name
        #expect(staging.handedOver == 1 && staging.handedOverBytes == 1)
        #expect(staging.withdraw(second)?.name == second)
        #expect(staging.handedOver == 0 && staging.handedOverBytes == 0)
        #expect(staging.withdraw(second)?.name == nil)
        #expect(text(staging.next()) == "a")
        #expect(staging.withdraw(first)?.name == nil)
    }

    @Test func handedOverOnesCountUntilTheyAreAnswered() {
        var staging = LogStaging()
        _ = append(&staging, "a", isHandedOver: true)
        _ = append(&staging, "bcd", isHandedOver: true)
        _ = append(&staging, "e")
        guard case .append(let appends) = staging.next() else { return }
        #expect(staging.handedOver == 2 && staging.handedOverBytes == 4)
        staging.answered(appends)
        #expect(staging.handedOver == 0 && staging.handedOverBytes == 0)
    }

    @Test func whatIsTakenBackLeavesTheOrderOfTheRest() {
        var staging = LogStaging()
        let names = ["a", "b", "c"].map { append(&staging, $0).name }
        _ = staging.add {}
        let alone = append(&staging, "d").name
        _ = staging.add {}
        let last = ["e", "f"].map { append(&staging, $0).name }
        #expect(staging.withdraw(names[1])?.name == names[1])
        #expect(staging.withdraw(alone)?.name == alone)
        #expect(staging.withdraw(last[0])?.name == last[0])
        #expect(staging.withdraw(alone)?.name == nil)
        _ = append(&staging, "g")
        var steps: [String] = []
        while let step = staging.next() { steps.append(text(step)) }
        #expect(steps == ["ac", "perform", "perform", "fg"])
        // What was taken back makes room again.
        let large = String(repeating: "y", count: 5 * 1024 * 1024)
        let first = append(&staging, large).name
        _ = staging.withdraw(first)
        _ = append(&staging, large)
        _ = append(&staging, "z")
        #expect(text(staging.next()).count == large.count + 1)
    }
}
