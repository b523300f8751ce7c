import Testing

@testable import PenstockStreams

/// Every state of a subscription, of the line of senders and of the whole against every event. Consumers and senders
/// are names here; the first subscriber is 1, and backlogs have two places.
@Suite struct ReplayStateMachineTests {
    typealias Machine = ReplayStateMachine<Int, Broken, String, String>

    private func machine(
        remembering count: Int = 1, _ backlog: ReplayBacklog<Broken> = .suspendSender(at: 2),
        after events: (inout Machine) -> Void...
    ) -> Machine {
        var machine = Machine(remembering: count, backlog: backlog)
        for event in events { event(&machine) }
        return machine
    }

    private func sent(_ values: Int...) -> (inout Machine) -> Void {
        { machine in for value in values { _ = machine.offer(value) } }
    }

    // The states, each by the shortest way there.
    private var empty: Machine { machine() }
    private var subscribed: Machine { machine(after: { _ = $0.subscribe() }) }
    private var waits: Machine { machine(after: { _ = $0.subscribe() }, { _ = $0.next("consumer", of: 1) }) }
    private func full(_ backlog: ReplayBacklog<Broken> = .suspendSender(at: 2)) -> Machine {
        machine(backlog, after: { _ = $0.subscribe() }, sent(1, 2))
    }
    /// A sender stands in line as 9.
    private var fullAndSenderWaits: Machine {
        var machine = full()
        _ = machine.send(3, as: 9, "sender")
        return machine
    }
    private var cut: Machine {
        var machine = full(.endSubscriber(at: 2) { Broken() })
        _ = machine.offer(3)
        return machine
    }
    private func over(_ machine: Machine, _ completion: Completion<Broken> = .finished) -> Machine {
        var machine = machine
        _ = machine.complete(completion)
        return machine
    }

    // MARK: One event each, in every state

    @Test func next() {
        expect(empty, { $0.next("c", of: 1) }, gives: [.end("c", nil)])
        expect(subscribed, { $0.next("c", of: 1) }, gives: [])
        expect(full(), { $0.next("c", of: 1) }, gives: [.give(1, to: "c")])
        expect(fullAndSenderWaits, { $0.next("c", of: 1) }, gives: [.give(1, to: "c"), .accept("sender")])
        expect(cut, { $0.next("c", of: 1) }, gives: [.give(1, to: "c")])
        expect(over(subscribed), { $0.next("c", of: 1) }, gives: [.end("c", nil)])
        expect(over(subscribed, .failed(Broken())), { $0.next("c", of: 1) }, gives: [.end("c", Broken())])
        expect(over(full(), .failed(Broken())), { $0.next("c", of: 1) }, gives: [.give(1, to: "c")])
        expect(over(waits), { $0.next("c", of: 1) }, gives: [.end("c", nil)])
    }

    @Test func request() {
        expect(empty, { $0.request(1, by: 1) }, gives: [])
        expect(subscribed, { $0.request(1, by: 1) }, gives: [])
        expect(waits, { $0.request(1, by: 1) }, gives: [])
        expect(full(), { $0.request(1, by: 1) }, gives: [])
        expect(fullAndSenderWaits, { $0.request(1, by: 1) }, gives: [.accept("sender")])
        expect(over(full()), { $0.request(1, by: 1) }, gives: [])
    }

    @Test func send() {
        expect(empty, { $0.send(7, as: 9, "s") }, gives: [.accept("s")])
        expect(subscribed, { $0.send(7, as: 9, "s") }, gives: [.accept("s")])
        expect(waits, { $0.send(7, as: 9, "s") }, gives: [.give(7, to: "consumer"), .accept("s")])
        expect(full(), { $0.send(7, as: 9, "s") }, gives: [])
        expect(full(.dropOldest(at: 2)), { $0.send(7, as: 9, "s") }, gives: [.drop(1), .accept("s")])
        expect(full(.endSubscriber(at: 2) { Broken() }), { $0.send(7, as: 9, "s") }, gives: [.accept("s")])
        expect(fullAndSenderWaits, { $0.send(7, as: 10, "s") }, gives: [])
        expect(cut, { $0.send(7, as: 9, "s") }, gives: [.accept("s")])
        expect(over(subscribed), { $0.send(7, as: 9, "s") }, gives: [.refuse("s")])
        expect(over(fullAndSenderWaits), { $0.send(7, as: 10, "s") }, gives: [.refuse("s")])
    }

    @Test func offer() {
        func expectOffer(
            _ machine: Machine, gives actions: [Machine.Action], isSent: Bool,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            var machine = machine
            let outcome = machine.offer(7)
            #expect(outcome.actions == actions, sourceLocation: sourceLocation)
            #expect(outcome.isSent == isSent, sourceLocation: sourceLocation)
        }
        expectOffer(empty, gives: [], isSent: true)
        expectOffer(waits, gives: [.give(7, to: "consumer")], isSent: true)
        expectOffer(full(), gives: [], isSent: false)
        expectOffer(full(.dropOldest(at: 2)), gives: [.drop(1)], isSent: true)
        expectOffer(fullAndSenderWaits, gives: [], isSent: false)
        expectOffer(cut, gives: [], isSent: true)
        expectOffer(over(empty), gives: [], isSent: false)
    }

    @Test func withdraw() {
        expect(full(), { $0.withdraw(9) }, gives: [])
        expect(fullAndSenderWaits, { $0.withdraw(9) }, gives: [.refuse("sender")])
        expect(over(fullAndSenderWaits), { $0.withdraw(9) }, gives: [.refuse("sender")])
        expect(over(empty), { $0.withdraw(9) }, gives: [])
    }

    @Test func complete() {
        expect(empty, { $0.complete(.finished) }, gives: [])
        expect(subscribed, { $0.complete(.finished) }, gives: [])
        expect(waits, { $0.complete(.finished) }, gives: [.end("consumer", nil)])
        expect(waits, { $0.complete(.failed(Broken())) }, gives: [.end("consumer", Broken())])
        expect(fullAndSenderWaits, { $0.complete(.finished) }, gives: [])
        expect(over(subscribed), { $0.complete(.failed(Broken())) }, gives: [])
        expect(over(fullAndSenderWaits), { $0.complete(.failed(Broken())) }, gives: [])
    }

    @Test func leave() {
        func expectLeave(
            _ machine: Machine, gives actions: [Machine.Action], waiting: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            var machine = machine
            let outcome = machine.leave(1)
            #expect(outcome.actions == actions, sourceLocation: sourceLocation)
            #expect(outcome.waiting == waiting, sourceLocation: sourceLocation)
            #expect(machine.subscriberCount == 0, sourceLocation: sourceLocation)
        }
        expectLeave(empty, gives: [])
        expectLeave(subscribed, gives: [])
        expectLeave(waits, gives: [], waiting: "consumer")
        expectLeave(full(), gives: [])
        expectLeave(fullAndSenderWaits, gives: [.accept("sender")])
        expectLeave(cut, gives: [])
        expectLeave(over(full()), gives: [])
    }
}
