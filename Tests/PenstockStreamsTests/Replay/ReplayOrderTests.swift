import Testing

@testable import PenstockStreams

/// What holds of a replay over several events.
@Suite struct ReplayOrderTests {
    typealias Machine = ReplayStateMachine<Int, Broken, String, String>

    @Test func newcomersGetWhatIsRememberedThenWhatIsSentThenTheEnd() {
        var machine = Machine(remembering: 2, backlog: .dropOldest(at: 8))
        for value in 1...4 { _ = machine.offer(value) }
        let name = machine.subscribe()
        _ = machine.offer(5)
        _ = machine.complete(.failed(Broken()))
        for value in 3...5 { #expect(machine.next("c", of: name) == [.give(value, to: "c")]) }
        #expect(machine.next("c", of: name) == [.end("c", Broken())])
        #expect(machine.next("c", of: name) == [.end("c", nil)])
        #expect(machine.subscriberCount == 0)

        let late = machine.subscribe()
        for value in 4...5 { #expect(machine.next("c", of: late) == [.give(value, to: "c")]) }
        #expect(machine.next("c", of: late) == [.end("c", Broken())])
    }

    @Test func nothingIsRememberedWhenNothingIsToBe() {
        var machine = Machine(remembering: 0, backlog: .dropOldest(at: 1))
        _ = machine.offer(1)
        let name = machine.subscribe()
        #expect(machine.next("c", of: name) == [])
    }

    @Test func theLimitIsNeverBelowWhatIsRemembered() {
        var machine = Machine(remembering: 3, backlog: .dropOldest(at: 1))
        for value in 1...3 { _ = machine.offer(value) }
        let name = machine.subscribe()
        #expect(machine.offer(4).actions == [.drop(1)])
        for value in 2...4 { #expect(machine.next("c", of: name) == [.give(value, to: "c")]) }
    }

    @Test func aNewcomerWithAFullBacklogHoldsSendersUp() {
        var machine = Machine(remembering: 2, backlog: .suspendSender(at: 1))
        for value in 1...2 { #expect(machine.offer(value).isSent) }
        let name = machine.subscribe()
        #expect(machine.send(3, as: 9, "sender") == [])
        #expect(machine.next("c", of: name) == [.give(1, to: "c"), .accept("sender")])
    }

    @Test func sendersGoOnInTheOrderOfTheirComingAndTheEndComesLast() {
        var machine = Machine(remembering: 0, backlog: .suspendSender(at: 1))
        let name = machine.subscribe()
        #expect(machine.send(1, as: 11, "a") == [.accept("a")])
        #expect(machine.send(2, as: 12, "b") == [])
        #expect(machine.send(3, as: 13, "c") == [])
        #expect(machine.complete(.finished) == [])
        #expect(machine.next("x", of: name) == [.give(1, to: "x"), .accept("b")])
        #expect(machine.next("x", of: name) == [.give(2, to: "x"), .accept("c")])
        #expect(machine.next("x", of: name) == [.give(3, to: "x")])
        #expect(machine.next("x", of: name) == [.end("x", nil)])
    }

    @Test func theSlowestSetsThePaceWhenSendersWait() {
        var machine = Machine(remembering: 0, backlog: .suspendSender(at: 1))
        let slow = machine.subscribe()
        let quick = machine.subscribe()
        _ = machine.next("quick", of: quick)
        #expect(machine.send(1, as: 11, "a") == [.give(1, to: "quick"), .accept("a")])
        _ = machine.next("quick", of: quick)
        #expect(machine.send(2, as: 12, "b") == [])
        #expect(machine.leave(slow).actions == [.give(2, to: "quick"), .accept("b")])
    }

    @Test func nobodyIsToldOfTheEndWhileSomebodyHasYetToSend() {
        var machine = Machine(remembering: 0, backlog: .suspendSender(at: 1))
        let slow = machine.subscribe()
        _ = machine.offer(1)
        let quick = machine.subscribe()
        #expect(machine.next("quick", of: quick) == [])
        #expect(machine.send(2, as: 11, "sender") == [])
        #expect(machine.complete(.finished) == [])
        #expect(machine.leave(slow).actions == [.give(2, to: "quick"), .accept("sender")])
        #expect(machine.next("quick", of: quick) == [.end("quick", nil)])
    }

    @Test func whoFellBehindGetsWhatWaitedAndThenTheError() {
        var machine = Machine(remembering: 0, backlog: .endSubscriber(at: 2) { Broken() })
        let name = machine.subscribe()
        for value in 1...4 { #expect(machine.offer(value).isSent) }
        for value in 1...2 { #expect(machine.next("c", of: name) == [.give(value, to: "c")]) }
        #expect(machine.next("c", of: name) == [.cut("c")])
        #expect(machine.next("c", of: name) == [.end("c", nil)])
    }

    @Test func whatWasAskedForInAdvanceDoesNotWait() {
        var machine = Machine(remembering: 0, backlog: .dropOldest(at: 1))
        let name = machine.subscribe()
        _ = machine.request(2, by: name)
        for value in 1...3 { #expect(machine.offer(value).actions == []) }
        #expect(machine.offer(4).actions == [.drop(3)])
        for value in 1...2 { #expect(machine.next("c", of: name) == [.give(value, to: "c")]) }
        #expect(machine.next("c", of: name) == [])
        #expect(machine.request(1, by: name) == [.give(4, to: "c")])
    }
}
