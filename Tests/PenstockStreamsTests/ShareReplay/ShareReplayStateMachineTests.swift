import Testing

@testable import PenstockStreams

/// Every state of the subscription upstream against every event. Consumers and pullers are names here; the first
/// subscriber is 2, as the puller's sending has the name 1.
@Suite struct ShareReplayStateMachineTests {
    typealias Machine = ShareReplayStateMachine<Int, Broken, String, String>

    private func machine(after events: (inout Machine) -> [Machine.Action]...) -> Machine {
        var machine = Machine(remembering: 1, backlog: .suspendSender(at: 1))
        _ = machine.subscribe()
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var running: Machine { machine(after: { $0.next("consumer", of: 2) }) }
    private var runningAndNobodyWaits: Machine {
        machine(after: { $0.next("consumer", of: 2) }, { $0.arrived(1, "puller") })
    }
    private var runningAndPullerWaits: Machine {
        machine(
            after: { $0.next("consumer", of: 2) }, { $0.arrived(1, "puller") }, { $0.arrived(2, "puller") },
            { $0.arrived(3, "puller") })
    }
    private var stopping: Machine { machine(after: { $0.next("consumer", of: 2) }, { $0.leave(2) }) }
    private var stoppingAndWanted: Machine {
        var machine = stopping
        let newcomer = machine.subscribe()
        _ = machine.next("newcomer", of: newcomer)
        return machine
    }
    private func over(_ completion: Completion<Broken> = .finished) -> Machine {
        machine(after: { $0.next("consumer", of: 2) }, { $0.arrived(1, "puller") }, { $0.upstreamEnded(completion) })
    }

    // MARK: One event each, in every state

    @Test func next() {
        expect(idle, { $0.next("c", of: 2) }, gives: [.start])
        expect(idle, { $0.next("c", of: 99) }, gives: [.replay(.end("c", nil))])
        expect(runningAndNobodyWaits, { $0.next("c", of: 2) }, gives: [])
        expect(runningAndNobodyWaits, { $0.next("c", of: 99) }, gives: [.replay(.end("c", nil))])
        expect(
            runningAndPullerWaits, { $0.next("c", of: 2) },
            gives: [.replay(.give(2, to: "c")), .replay(.accept("puller"))])
        expect(stopping, { $0.next("c", of: 2) }, gives: [])
        expect(over(), { $0.next("c", of: 2) }, gives: [.replay(.end("c", nil))])
        expect(over(.failed(Broken())), { $0.next("c", of: 2) }, gives: [.replay(.end("c", Broken()))])
    }

    @Test func request() {
        expect(idle, { $0.request(2, by: 2) }, gives: [])
        expect(running, { $0.request(2, by: 2) }, gives: [])
        expect(runningAndPullerWaits, { $0.request(1, by: 2) }, gives: [.replay(.accept("puller"))])
        expect(stopping, { $0.request(1, by: 2) }, gives: [])
        expect(over(), { $0.request(1, by: 2) }, gives: [])
    }

    @Test func arrived() {
        expect(
            running, { $0.arrived(7, "p") }, gives: [.replay(.give(7, to: "consumer")), .replay(.accept("p"))])
        expect(runningAndNobodyWaits, { $0.arrived(7, "p") }, gives: [.replay(.accept("p"))])
        var full = runningAndNobodyWaits
        _ = full.arrived(2, "p")
        expect(full, { $0.arrived(7, "p") }, gives: [])
        expect(stopping, { $0.arrived(7, "p") }, gives: [.stop("p")])
        expect(stoppingAndWanted, { $0.arrived(7, "p") }, gives: [.stop("p")])
    }

    @Test func upstreamEnded() {
        expect(running, { $0.upstreamEnded(.finished) }, gives: [.replay(.end("consumer", nil))])
        expect(running, { $0.upstreamEnded(.failed(Broken())) }, gives: [.replay(.end("consumer", Broken()))])
        expect(runningAndNobodyWaits, { $0.upstreamEnded(.finished) }, gives: [])
        expect(stopping, { $0.upstreamEnded(.failed(Broken())) }, gives: [.replay(.end("consumer", nil))])
        expect(stoppingAndWanted, { $0.upstreamEnded(.finished) }, gives: [.start, .replay(.end("consumer", nil))])
    }

    @Test func leave() {
        expect(idle, { $0.leave(2) }, gives: [])
        expect(idle, { $0.leave(99) }, gives: [])
        expect(running, { $0.leave(2) }, gives: [.cancel])
        expect(runningAndNobodyWaits, { $0.leave(2) }, gives: [.cancel])
        expect(runningAndPullerWaits, { $0.leave(2) }, gives: [.cancel, .replay(.refuse("puller"))])
        expect(stopping, { $0.leave(2) }, gives: [])
        expect(stoppingAndWanted, { $0.leave(3) }, gives: [])
        expect(over(), { $0.leave(2) }, gives: [])
        var two = running
        _ = two.subscribe()
        expect(two, { $0.leave(2) }, gives: [.replay(.end("consumer", nil))])
        expect(two, { $0.leave(3) }, gives: [])
    }

    // MARK: What holds over several events

    @Test func theMemoryStaysWhenTheLastOneLeaves() {
        var machine = runningAndNobodyWaits
        _ = machine.leave(2)
        _ = machine.upstreamEnded(.finished)
        let newcomer = machine.subscribe()
        #expect(machine.next("c", of: newcomer) == [.start, .replay(.give(1, to: "c"))])
    }

    @Test func anElementOfACancelledUpstreamIsLetGo() {
        var machine = stoppingAndWanted
        _ = machine.arrived(7, "puller")
        _ = machine.upstreamEnded(.finished)
        #expect(machine.arrived(8, "puller") == [.replay(.give(8, to: "newcomer")), .replay(.accept("puller"))])
    }

    @Test func whoLeavesWhileUpstreamStopsIsToldWhenItHas() {
        var machine = stoppingAndWanted
        _ = machine.leave(3)
        let actions = machine.upstreamEnded(.finished)
        #expect(actions == [.replay(.end("consumer", nil)), .replay(.end("newcomer", nil))])
        #expect(machine.subscriberCount == 0)
    }

    @Test func aNewcomerAfterTheEndGetsTheMemoryAndThatEnd() {
        var machine = over(.failed(Broken()))
        let newcomer = machine.subscribe()
        #expect(machine.next("c", of: newcomer) == [.replay(.give(1, to: "c"))])
        #expect(machine.next("c", of: newcomer) == [.replay(.end("c", Broken()))])
    }
}
