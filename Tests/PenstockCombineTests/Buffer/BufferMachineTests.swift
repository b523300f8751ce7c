import PenstockCombine
import Testing

@testable import PenstockCombine

/// Every state against every event.
@Suite struct BufferMachineTests {
    struct Broken: Error, Equatable {}

    typealias Machine = BufferMachine<Int, Broken>

    private func machine(
        size: Int = 2, _ prefetch: Publishers.PrefetchStrategy = .keepFull,
        _ whenFull: Publishers.BufferingStrategy<Broken> = .dropNewest,
        after events: (inout Machine) -> [Machine.Step]...
    ) -> Machine {
        var machine = Machine(size: size, prefetch: prefetch, whenFull: whenFull)
        for event in events {
            _ = event(&machine)
            _ = machine.takeAsk()
        }
        return machine
    }

    // The states, each by the shortest way there.
    private var new: Machine { machine() }
    private var hungry: Machine { machine(after: { $0.request(3) }) }
    private var busy: Machine { machine(after: { $0.request(1) }, { $0.arrived(1) }) }
    private func full(
        _ prefetch: Publishers.PrefetchStrategy = .keepFull,
        _ whenFull: Publishers.BufferingStrategy<Broken> = .dropNewest
    ) -> Machine {
        machine(prefetch, whenFull, after: { $0.request(1) }, { $0.arrived(1) }, { $0.arrived(2) }, { $0.arrived(3) })
    }
    private var paused: Machine {
        var machine = full()
        _ = machine.arrived(4)
        return machine
    }
    private var finishing: Machine {
        var machine = full()
        _ = machine.ended(.finished)
        return machine
    }
    private var over: Machine { machine(after: { $0.request(1) }, { $0.ended(.finished) }) }

    private func expect(
        _ machine: Machine, _ event: (inout Machine) -> [Machine.Step], says steps: [Machine.Step], asks: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var machine = machine
        #expect(event(&machine) == steps, sourceLocation: sourceLocation)
        #expect(machine.takeAsk() == asks, sourceLocation: sourceLocation)
        #expect(machine.takeAsk() == 0, sourceLocation: sourceLocation)
    }

    @Test func request() {
        expect(new, { $0.request(1) }, says: [], asks: 4)
        expect(new, { $0.request(.max) }, says: [], asks: .max)
        expect(machine(.byRequest), { $0.request(1) }, says: [], asks: .max)
        expect(hungry, { $0.request(2) }, says: [], asks: 2)
        expect(busy, { $0.request(1) }, says: [], asks: 1)
        expect(full(), { $0.request(1) }, says: [.give(2)], asks: 1)
        expect(full(.byRequest), { $0.request(1) }, says: [.give(2)], asks: 0)
        expect(paused, { $0.request(1) }, says: [.give(2)], asks: 2)
        expect(paused, { $0.request(3) }, says: [.give(2), .give(3)], asks: 4)
        expect(finishing, { $0.request(1) }, says: [.give(2)], asks: 0)
        expect(finishing, { $0.request(2) }, says: [.give(2), .give(3), .end(.finished)], asks: 0)
        expect(over, { $0.request(1) }, says: [], asks: 0)
    }

    @Test func arrived() {
        expect(hungry, { $0.arrived(7) }, says: [.give(7)], asks: 0)
        expect(busy, { $0.arrived(7) }, says: [], asks: 0)
        expect(full(), { $0.arrived(7) }, says: [.drop(7)], asks: 0)
        expect(full(.keepFull, .dropOldest), { $0.arrived(7) }, says: [.drop(2)], asks: 0)
        expect(full(.keepFull, .customError { Broken() }), { $0.arrived(7) }, says: [.overflow(7)], asks: 0)
        expect(paused, { $0.arrived(7) }, says: [.drop(7)], asks: 0)
        expect(finishing, { $0.arrived(7) }, says: [], asks: 0)
        expect(over, { $0.arrived(7) }, says: [], asks: 0)
    }

    @Test func arrivedWhereNothingMayWait() {
        let none = machine(size: 0, after: { $0.request(1) }, { $0.arrived(1) })
        expect(none, { $0.arrived(2) }, says: [.drop(2)], asks: 0)
        let oldest = machine(size: 0, .byRequest, .dropOldest, after: { $0.request(1) }, { $0.arrived(1) })
        expect(oldest, { $0.arrived(2) }, says: [.drop(2)], asks: 0)
        expect(oldest, { $0.request(1) }, says: [], asks: 0)
    }

    @Test func ended() {
        expect(new, { $0.ended(.finished) }, says: [.end(.finished)], asks: 0)
        expect(hungry, { $0.ended(.finished) }, says: [.end(.finished)], asks: 0)
        expect(full(), { $0.ended(.finished) }, says: [], asks: 0)
        expect(full(), { $0.ended(.failure(Broken())) }, says: [.end(.failure(Broken()))], asks: 0)
        expect(finishing, { $0.ended(.failure(Broken())) }, says: [], asks: 0)
        expect(over, { $0.ended(.failure(Broken())) }, says: [], asks: 0)
    }

    @Test func cancelled() {
        for state in [new, hungry, busy, full(), paused, finishing, over] {
            var machine = state
            machine.cancelled()
            expect(machine, { $0.request(1) }, says: [], asks: 0)
            expect(machine, { $0.arrived(7) }, says: [], asks: 0)
            expect(machine, { $0.ended(.finished) }, says: [], asks: 0)
        }
    }
}
