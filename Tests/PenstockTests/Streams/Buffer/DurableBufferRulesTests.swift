import PenstockCore
import PenstockStreams
import PenstockTestKit
import Testing

@testable import Penstock

/// The machine and its operations against the rules of a buffer, followed one event at a time: whenever the store is
/// called, and however much one call carries, the same values come out and the same ones are dropped.
@Suite struct DurableBufferRulesTests {
    /// A store with one queue.
    private struct Line {
        let size: Int
        let whenFull: OverflowPolicy
        var isPaused = false
        var waiting: [Int] = []
        var dropped: [Int] = []
        var given: [Int] = []

        struct Overflow: Error {}

        mutating func enqueue(_ values: [Int]) -> (accepted: Int, net: Int) {
            let before = waiting.count
            for (index, value) in values.enumerated() {
                if waiting.count < size {
                    waiting.append(value)
                } else if whenFull == .dropOldest {
                    dropped.append(waiting.removeFirst())
                    waiting.append(value)
                } else if whenFull == .dropNewest {
                    dropped.append(value)
                } else {
                    return (index, waiting.count - before)
                }
            }
            return (values.count, waiting.count - before)
        }

        /// Carries out a call as a store does, and tells the machine what it gave.
        mutating func perform(
            _ steps: [PendingOperations<Int>.Step], _ machine: inout DurableBufferStateMachine<Int, Int>
        ) {
            for step in steps {
                switch step {
                case .enqueue(let values):
                    let (accepted, net) = enqueue(values)
                    _ = machine.enqueued(accepted: accepted, net: net)
                    if accepted == values.count { continue }
                    if whenFull == .fail { _ = machine.overflowed(Overflow()) }
                    return
                case .claim(let limit):
                    let count = claim(limit)
                    _ = machine.claimed(count, isShort: count < limit)
                }
            }
        }

        /// Does what the machine wants of it next.
        ///
        /// - Returns: whether there was something to do.
        mutating func goOn(_ machine: inout DurableBufferStateMachine<Int, Int>) -> Bool {
            switch machine.nextStep().step {
            case .perform(let steps): perform(steps, &machine)
            case .open: _ = machine.opened(waiting: waiting.count, isPaused: false)
            case .recount: _ = machine.recounted(waiting.count)
            case .count, .rest, .end: return false
            }
            return true
        }

        mutating func claim(_ limit: Int) -> Int {
            if isPaused { return 0 }
            let taken = waiting.prefix(limit)
            given += taken
            waiting.removeFirst(taken.count)
            return taken.count
        }
    }

    /// The rules, literally.
    private struct Rules {
        var line: Line
        var demand = 0
        var hasFailed = false

        mutating func request(_ count: Int) {
            demand += count
            if hasFailed { return }
            demand -= line.claim(demand)
        }

        mutating func arrive(_ value: Int) {
            if hasFailed { return }
            guard demand > 0 else {
                let accepted = line.enqueue([value]).accepted
                return hasFailed = line.whenFull == .fail && accepted == 0
            }
            demand -= 1
            line.given.append(value)
        }
    }

    @Test(arguments: 0..<2_000)
    func comeOutTheSameWheneverTheStoreIsCalled(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let size = random.next(in: 1...5)
        let whenFull = random.pick([OverflowPolicy.dropNewest, .dropOldest, .wait, .fail]) ?? .wait
        let prefetch = random.chance(0.5) ? BufferPrefetch.byRequest : .keepFull
        var line = Line(size: size, whenFull: whenFull)
        line.waiting = Array(-random.next(in: 0...3)..<0)
        var rules = Rules(line: line)
        var machine = DurableBufferStateMachine<Int, Int>(.init(size: size, prefetch: prefetch, whenFull: whenFull))

        _ = machine.request(1)
        rules.request(1)
        let hasOpened = line.goOn(&machine)
        #expect(hasOpened)
        for value in 1...60 {
            switch random.next(in: 0...2) {
            case 0 where machine.owed > 0:
                _ = machine.arrived(value, bytes: 1)
                rules.arrive(value)
            case 1:
                let count = random.next(in: 1...3)
                _ = machine.request(count)
                rules.request(count)
            default:
                _ = line.goOn(&machine)
            }
        }
        while line.goOn(&machine) {}
        #expect(line.given == rules.line.given, "\(size) \(whenFull) \(prefetch)")
        #expect(Set(line.dropped) == Set(rules.line.dropped))
        #expect(line.waiting == rules.line.waiting)
        #expect((machine.failure != nil) == rules.hasFailed)
        if rules.hasFailed { return }
        #expect(machine.waiting == line.waiting.count)
        #expect(machine.demand == rules.demand)
    }

    /// A queue is paused, others take of it, and its messages come to their time again.
    @Test(arguments: 0..<500)
    func noDemandAndNoPlaceIsLostWhateverMayBeClaimed(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let size = random.next(in: 1...5)
        let whenFull = random.pick([OverflowPolicy.dropNewest, .dropOldest, .wait, .fail]) ?? .wait
        var line = Line(size: size, whenFull: whenFull)
        var machine = DurableBufferStateMachine<Int, Int>(.init(size: size, prefetch: .keepFull, whenFull: whenFull))
        var requested = 0

        for value in 1...80 {
            switch random.next(in: 0...6) {
            case 0...1 where machine.owed > 0 && !machine.mayOverflow:
                _ = machine.arrived(value, bytes: 1)
            case 2:
                requested += 1
                _ = machine.request(1)
            case 3:
                line.isPaused.toggle()
                _ = machine.looksAgain()
            case 4 where !line.waiting.isEmpty:
                line.waiting.removeFirst()
                _ = machine.looksAgain()
            default:
                _ = line.goOn(&machine)
            }
        }
        while line.goOn(&machine) {}
        if machine.failure != nil { return }
        line.isPaused = true
        _ = machine.looksAgain()
        while line.goOn(&machine) {}
        // Whatever is owed comes, and no more is asked for than is wanted, finds a place, and one.
        let (owed, demand) = (machine.owed, machine.demand)
        var arrived = 0
        while machine.owed > 0, arrived < 1_000 {
            arrived += 1
            _ = machine.arrived(1_000 + arrived, bytes: 1)
            while machine.owed == 0 || machine.mayOverflow || random.chance(0.5), line.goOn(&machine) {}
            if machine.failure != nil { return #expect(line.waiting.count == size, "It overflowed with places free.") }
        }
        #expect(arrived <= owed + demand + size + 1, "\(whenFull) \(size)")
        line.isPaused = false
        _ = machine.looksAgain()
        while line.goOn(&machine) {}
        #expect(line.waiting.isEmpty || machine.demand == 0)
        #expect(line.given.count + machine.demand == requested)
    }

    /// What makes it fast: however values and demands interleave, few calls carry many of them.
    @Test(arguments: [OverflowPolicy.dropNewest, .dropOldest, .wait])
    func manyValuesGoInFewCalls(whenFull: OverflowPolicy) {
        var line = Line(size: 1_000, whenFull: whenFull)
        var machine = DurableBufferStateMachine<Int, Int>(.init(size: 1_000, prefetch: .keepFull, whenFull: whenFull))
        _ = machine.request(1)
        _ = machine.opened(waiting: 0, isPaused: false)
        var (calls, operations) = (0, 0)
        for value in 1...10_000 {
            if machine.owed > 0 { _ = machine.arrived(value, bytes: 1) }
            _ = machine.request(1)
            guard value % 100 == 0 else { continue }
            steps: while true {
                calls += 1
                switch machine.nextStep().step {
                case .perform(let steps):
                    operations += steps.count
                    line.perform(steps, &machine)
                case .open, .recount, .count, .rest, .end:
                    break steps
                }
            }
        }
        #expect(line.given.count > 9_900)
        #expect(calls <= 300, "Three for a hundred values at most.")
        #expect(operations <= 600, "Six for a hundred values at most.")
    }
}
