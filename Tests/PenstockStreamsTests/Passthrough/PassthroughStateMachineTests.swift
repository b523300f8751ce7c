import Testing

@testable import PenstockStreams

/// Every state of a subscription against every event. Consumers are names here; the first subscriber is 1.
@Suite struct PassthroughStateMachineTests {
    typealias Machine = PassthroughStateMachine<Int, Broken, String>

    private var empty: Machine { Machine() }
    private var subscribed: Machine {
        var machine = empty
        _ = machine.subscribe()
        return machine
    }
    private var waits: Machine {
        var machine = subscribed
        _ = machine.next("consumer", of: 1)
        return machine
    }
    private var delivered: Machine {
        var machine = subscribed
        _ = machine.request(2, by: 1)
        _ = machine.send(1)
        return machine
    }
    private func over(_ machine: Machine, _ completion: Completion<Broken> = .finished) -> Machine {
        var machine = machine
        _ = machine.complete(completion)
        return machine
    }

    private func expectSend(
        _ machine: Machine, gives actions: [Machine.Action], takers: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var machine = machine
        let (given, takerCount) = machine.send(7)
        #expect(given == actions, sourceLocation: sourceLocation)
        #expect(takerCount == takers, sourceLocation: sourceLocation)
    }

    @Test func next() {
        expect(empty, { $0.next("c", of: 1) }, gives: [.end("c", nil)])
        expect(subscribed, { $0.next("c", of: 1) }, gives: [])
        expect(delivered, { $0.next("c", of: 1) }, gives: [.give(1, to: "c")])
        expect(over(subscribed), { $0.next("c", of: 1) }, gives: [.end("c", nil)])
        expect(over(subscribed, .failed(Broken())), { $0.next("c", of: 1) }, gives: [.end("c", Broken())])
        expect(over(delivered, .failed(Broken())), { $0.next("c", of: 1) }, gives: [.give(1, to: "c")])
        expect(over(waits, .failed(Broken())), { $0.next("c", of: 1) }, gives: [.end("c", nil)])
    }

    @Test func send() {
        expectSend(empty, gives: [], takers: 0)
        expectSend(subscribed, gives: [], takers: 0)
        expectSend(waits, gives: [.give(7, to: "consumer")], takers: 1)
        expectSend(delivered, gives: [], takers: 1)
        expectSend(over(delivered), gives: [], takers: 0)
    }

    @Test func request() {
        expect(empty, { $0.request(1, by: 1) }, gives: [])
        expect(subscribed, { $0.request(1, by: 1) }, gives: [])
        expect(waits, { $0.request(1, by: 1) }, gives: [])
        expect(over(delivered), { $0.request(1, by: 1) }, gives: [])
    }

    @Test func complete() {
        expect(empty, { $0.complete(.finished) }, gives: [])
        expect(subscribed, { $0.complete(.finished) }, gives: [])
        expect(waits, { $0.complete(.finished) }, gives: [.end("consumer", nil)])
        expect(waits, { $0.complete(.failed(Broken())) }, gives: [.end("consumer", Broken())])
        expect(delivered, { $0.complete(.finished) }, gives: [])
        expect(over(subscribed), { $0.complete(.failed(Broken())) }, gives: [])
    }

    @Test func leave() {
        expect(empty, { $0.leave(1) }, gives: [])
        expect(subscribed, { $0.leave(1) }, gives: [])
        expect(waits, { $0.leave(1) }, gives: [.end("consumer", nil)])
        expect(delivered, { $0.leave(1) }, gives: [])
        expect(over(delivered), { $0.leave(1) }, gives: [])
    }

    @Test func whoIsOverIsForgotten() {
        for machine in [over(waits), over(subscribed, .failed(Broken()))] {
            var machine = machine
            _ = machine.next("c", of: 1)
            #expect(machine.subscriberCount == 0)
            #expect(machine.next("c", of: 1) == [.end("c", nil)])
        }
    }

    @Test func whatIsSentWithoutDemandIsLost() {
        var machine = subscribed
        _ = machine.send(1)
        #expect(machine.next("c", of: 1) == [])
        #expect(machine.send(2).actions == [.give(2, to: "c")])
        #expect(machine.send(3).takerCount == 0)
    }

    @Test func demandIsKeptForEach() {
        var machine = delivered
        let other = machine.subscribe()
        _ = machine.next("other", of: other)
        #expect(machine.send(2).takerCount == 2)
        #expect(machine.send(3).takerCount == 0)
        #expect(machine.next("c", of: 1) == [.give(1, to: "c")])
        #expect(machine.next("c", of: 1) == [.give(2, to: "c")])
        #expect(machine.send(4).takerCount == 0)
    }
}
