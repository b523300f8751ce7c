import PenstockCore
import Testing

@testable import Penstock

@Suite struct LogHubStateMachineTests {
    typealias Machine = LogHubStateMachine<Int, String>
    private struct Broken: Error {}

    private func text(_ actions: [Machine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .stop: "stop"
            case .give(let items, let consumer): "\(consumer): \(items.map(\.ordinal))"
            case .sendBack(let consumer): "\(consumer): behind"
            case .end(let consumer, let failure): "\(consumer): \(failure == nil ? "end" : "failure")"
            }
        }
    }

    private func place(_ number: Int) -> LogPlace { LogTailTests.place(number) }
    private func sequence(_ number: Int) -> SequenceNumber { SequenceNumber(Int64(number)) }

    private func extend(_ machine: inout Machine, _ numbers: ClosedRange<Int>) -> [String] {
        text(
            machine.extend(numbers.map { LogTailTests.item($0) }, reach: place(numbers.upperBound), by: machine.running)
        )
        .sorted()
    }

    @Test func theFirstStartsAndTheLastStops() {
        var machine = Machine()
        let (first, begun) = machine.join(at: place(3))
        #expect(begun == 1)
        let (second, none) = machine.join(at: place(3))
        #expect(none == nil)
        #expect(machine.subscriberCount == 2)
        #expect(text(machine.leave(first)) == [])
        #expect(text(machine.leave(first)) == [], "Once is enough.")
        #expect(text(machine.leave(second)) == ["stop"])
        #expect(machine.tail == nil)
        let (_, next) = machine.join(at: place(9))
        #expect(next == 2)
        #expect(machine.tail?.base == place(9))
    }

    @Test func everyPlaceAgainstTheTail() {
        var machine = Machine()
        let (name, _) = machine.join(at: place(3))
        _ = extend(&machine, 4...2000)
        let base = 2000 - 1024
        #expect(text(machine.next("a", of: name, after: sequence(3))) == ["a: behind"])
        #expect(text(machine.next("a", of: name, after: sequence(base - 1))) == ["a: behind"])
        #expect(text(machine.next("a", of: name, after: sequence(base))) == ["a: \(Array(base + 1...base + 64))"])
        #expect(text(machine.next("a", of: name, after: sequence(1998))) == ["a: [1999, 2000]"])
        #expect(text(machine.next("a", of: name, after: sequence(2000))) == [])
        #expect(extend(&machine, 2001...2001) == ["a: [2001]"])
        // It has read further by itself than the tail reaches.
        #expect(text(machine.next("a", of: name, after: sequence(2003))) == [])
        #expect(extend(&machine, 2002...2003) == [])
        #expect(extend(&machine, 2004...2005) == ["a: [2004, 2005]"])
    }

    @Test func nextWhileAnotherIsUnderWay() async {
        await #expect(processExitsWith: .failure) {
            var machine = LogHubStateMachine<Int, String>()
            let (name, _) = machine.join(at: LogTailTests.place(0))
            _ = machine.next("one", of: name, after: SequenceNumber(0))
            _ = machine.next("two", of: name, after: SequenceNumber(0))
        }
    }

    @Test func allWhoWaitAreGivenTheirs() {
        var machine = Machine()
        let names = (0..<3).map { _ in machine.join(at: place(0)).name }
        for (name, consumer) in zip(names, ["a", "b", "c"]) {
            #expect(text(machine.next(consumer, of: name, after: sequence(name == names[2] ? 1 : 0))) == [])
        }
        #expect(extend(&machine, 1...2) == ["a: [1, 2]", "b: [1, 2]", "c: [2]"])
        // More than the tail holds at once: waiting readers must read the log.
        for (name, consumer) in zip(names, ["a", "b"]) { _ = machine.next(consumer, of: name, after: sequence(2)) }
        #expect(extend(&machine, 3...3000) == ["a: behind", "b: behind"])
    }

    @Test func theEndComesAfterWhatIsInTheTail() {
        var machine = Machine()
        let (slow, _) = machine.join(at: place(0))
        let (waiting, _) = machine.join(at: place(0))
        _ = extend(&machine, 1...2)
        #expect(text(machine.next("b", of: waiting, after: sequence(2))) == [])
        #expect(text(machine.complete(Broken(), by: 1)) == ["b: failure"])
        #expect(text(machine.complete(nil, by: nil)) == [], "The first end counts.")
        #expect(text(machine.next("a", of: slow, after: sequence(0))) == ["a: [1, 2]"])
        #expect(text(machine.next("a", of: slow, after: sequence(2))) == ["a: failure"])
        #expect(machine.subscriberCount == 0)
        let (late, none) = machine.join(at: place(2))
        #expect(none == nil, "Nothing is read any more.")
        #expect(text(machine.next("c", of: late, after: sequence(2))) == ["c: failure"])
        #expect(text(machine.next("c", of: late, after: sequence(2))) == ["c: end"])
    }

    @Test func aFailureEndsAllAndNewcomersBeginAnew() {
        var machine = Machine()
        let (waiting, _) = machine.join(at: place(0))
        let (busy, _) = machine.join(at: place(0))
        let (gone, _) = machine.join(at: place(0))
        #expect(text(machine.next("a", of: waiting, after: sequence(0))) == [])
        #expect(text(machine.fail(Broken(), by: 1)) == ["a: failure"])
        #expect(text(machine.leave(gone)) == [])
        #expect(text(machine.next("b", of: busy, after: sequence(0))) == ["b: failure"])
        #expect(text(machine.next("b", of: busy, after: sequence(0))) == ["b: end"])
        #expect(extend(&machine, 1...1) == [], "What is read too late finds nobody.")
        let (_, next) = machine.join(at: place(5))
        #expect(next == 2)
    }

    /// The reading of subscribers that have left comes to its end late, when others have come.
    @Test func whatComesOfAnEarlierRunDoesNotCount() {
        var machine = Machine()
        let (first, _) = machine.join(at: place(0))
        #expect(text(machine.leave(first)) == ["stop"])
        let (second, begun) = machine.join(at: place(3))
        #expect(begun == 2)
        #expect(text(machine.next("b", of: second, after: sequence(3))) == [])
        #expect(text(machine.begin(at: place(1), by: 1)) == [])
        #expect(text(machine.extend([LogTailTests.item(1)], reach: place(1), by: 1)) == [])
        #expect(text(machine.fail(CancellationError(), by: 1)) == [])
        #expect(text(machine.complete(nil, by: 1)) == [])
        #expect(extend(&machine, 4...5) == ["b: [4, 5]"])
    }

    @Test func aSubscriberMayComeBeforeItKnowsItsPlace() {
        var machine = Machine()
        let (early, begun) = machine.join(at: nil)
        #expect(begun == 1)
        let (other, none) = machine.join(at: nil)
        #expect(none == nil)
        #expect(text(machine.next("a", of: early, after: sequence(3))) == [])
        #expect(text(machine.next("b", of: other, after: sequence(5))) == [])
        #expect(text(machine.begin(at: place(5), by: 1)) == ["a: behind"])
        #expect(text(machine.begin(at: place(9), by: 1)) == [], "It has begun.")
        #expect(extend(&machine, 6...6) == ["b: [6]"])
    }

    @Test func leavingReleasesWhoWaits() {
        var machine = Machine()
        let (first, _) = machine.join(at: place(0))
        _ = machine.join(at: place(0))
        #expect(text(machine.next("a", of: first, after: sequence(0))) == [])
        #expect(text(machine.leave(first)) == ["a: end"])
        #expect(extend(&machine, 1...1) == [])
        #expect(text(machine.next("a", of: first, after: sequence(0))) == ["a: end"])
    }

    @Test func aLogInMemoryKeepsItsTail() {
        var machine = Machine(tail: LogTail(at: place(0), countMax: 2))
        #expect(extend(&machine, 1...1) == [])
        let (name, none) = machine.join(at: place(1))
        #expect(none == nil)
        #expect(text(machine.leave(name)) == [])
        #expect(machine.tail?.count == 1)
        machine.changeTail { $0.trim(to: 0) }
        #expect(machine.tail?.count == 0)
    }
}
