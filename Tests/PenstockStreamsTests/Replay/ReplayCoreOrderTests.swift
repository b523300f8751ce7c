import Testing

@testable import PenstockStreams

/// What holds of a replay over several events.
@Suite struct ReplayCoreOrderTests {
    typealias Replay = DrivenReplay

    @Test func newcomersGetWhatIsRememberedThenWhatIsSentThenTheEnd() {
        var replay = Replay(bufferSize: 2, .dropOldest(at: 8))
        for value in 1...4 { replay.offer(value) }
        let name = replay.subscribe()
        replay.offer(5)
        replay.complete(.failed(Broken()))
        for value in 3...5 { #expect(replay.come(name) == ["\(value)"]) }
        #expect(replay.come(name) == ["broken"])
        #expect(replay.come(name) == ["end"])
        #expect(replay.core.subscriberCount == 0)

        let late = replay.subscribe()
        for value in 4...5 { #expect(replay.come(late) == ["\(value)"]) }
        #expect(replay.come(late) == ["broken"])
    }

    @Test func nothingIsRememberedWhenNothingIsToBe() {
        var replay = Replay(bufferSize: 0, .dropOldest(at: 1))
        replay.offer(1)
        let name = replay.subscribe()
        #expect(replay.come(name) == [])
    }

    @Test func whatIsRememberedNoMoreIsHandedBack() {
        var none = Replay(bufferSize: 0, .unbounded)
        #expect(none.core.offer(1) == .sent(takerCount: 0, letGo: 1))
        var two = Replay(bufferSize: 2, .unbounded)
        for (value, letGo) in [(1, nil), (2, nil), (3, 1)] as [(Int, Int?)] {
            #expect(two.core.offer(value) == .sent(takerCount: 0, letGo: letGo))
        }
    }

    @Test func theLimitIsNeverBelowWhatIsRemembered() {
        var replay = Replay(bufferSize: 3, .dropOldest(at: 1))
        for value in 1...3 { replay.offer(value) }
        let name = replay.subscribe()
        #expect(replay.offer(4) == ["to 1", "drop 1"])
        for value in 2...4 { #expect(replay.come(name) == ["\(value)"]) }
    }

    @Test func aNewcomerWithAFullBacklogHoldsSendersUp() {
        var replay = Replay(bufferSize: 2, .suspendSender(at: 1))
        for value in 1...2 { #expect(replay.offer(value) == ["to 0"]) }
        let name = replay.subscribe()
        #expect(replay.send(3, "sender") == ["no room"])
        #expect(replay.come(name) == ["1", "sender sent"])
    }

    @Test func sendersGoOnInTheOrderOfTheirComingAndTheEndComesLast() {
        var replay = Replay(bufferSize: 0, .suspendSender(at: 1))
        let name = replay.subscribe()
        #expect(replay.send(1, "a", as: 11) == ["to 1"])
        #expect(replay.send(2, "b", as: 12) == ["no room"])
        #expect(replay.send(3, "c", as: 13) == ["no room"])
        #expect(replay.complete() == [])
        #expect(replay.come(name) == ["1", "b sent"])
        #expect(replay.come(name) == ["2", "c sent"])
        #expect(replay.come(name) == ["3"])
        #expect(replay.come(name) == ["end"])
    }

    @Test func theSlowestSetsThePaceWhenSendersWait() {
        var replay = Replay(bufferSize: 0, .suspendSender(at: 1))
        let slow = replay.subscribe()
        let quick = replay.subscribe()
        replay.come(quick, "quick")
        #expect(replay.send(1, "a", as: 11) == ["to 2", "quick: 1"])
        replay.come(quick, "quick")
        #expect(replay.send(2, "b", as: 12) == ["no room"])
        #expect(replay.leave(slow) == ["b sent", "quick: 2"])
    }

    @Test func nobodyIsToldOfTheEndWhileSomebodyHasYetToSend() {
        var replay = Replay(bufferSize: 0, .suspendSender(at: 1))
        let slow = replay.subscribe()
        replay.offer(1)
        let quick = replay.subscribe()
        #expect(replay.come(quick, "quick") == [])
        #expect(replay.send(2, "sender") == ["no room"])
        #expect(replay.complete() == [])
        #expect(replay.leave(slow) == ["sender sent", "quick: 2"])
        #expect(replay.come(quick) == ["end"])
    }

    @Test func whoFellBehindGetsWhatWaitedAndThenTheError() {
        var replay = Replay(bufferSize: 0, .endSubscriber(at: 2) { Broken(name: "behind") })
        let name = replay.subscribe()
        for value in 1...4 { #expect(replay.offer(value) == [value > 2 ? "to 0" : "to 1"]) }
        for value in 1...2 { #expect(replay.come(name) == ["\(value)"]) }
        #expect(replay.come(name) == ["cut, behind"])
        #expect(replay.come(name) == ["end"])
    }

    @Test func whatWasAskedForInAdvanceDoesNotWait() {
        var replay = Replay(bufferSize: 0, .dropOldest(at: 1))
        let name = replay.subscribe()
        replay.request(2, by: name)
        for value in 1...3 { #expect(replay.offer(value) == ["to 1"]) }
        #expect(replay.offer(4) == ["to 1", "drop 3"])
        for value in 1...2 { #expect(replay.come(name) == ["\(value)"]) }
        #expect(replay.come(name) == [])
        #expect(replay.request(1, by: name) == ["c: 4"])
    }

    @Test func aListenerIsSpokenToByOneAtATime() {
        var replay = Replay(bufferSize: 0, .unbounded)
        let name = replay.core.subscribe(asksInAdvance: true)
        replay.request(.max, by: name)
        // It was never here: somebody greets it.
        #expect(replay.offer(1) == ["to 1"])
        #expect(replay.come(name) == ["1"])
        // The one who tells it 1 has it.
        #expect(replay.offer(2) == ["to 1"])
        #expect(replay.complete() == [])
        #expect(replay.come(name) == ["2"])
        #expect(replay.come(name) == ["end"])
    }

    @Test func whoLeavesWhileItStandsInLineIsNotTold() {
        var replay = Replay(bufferSize: 0, .unbounded)
        for listener in ["a", "b"] { replay.come(replay.subscribe(), listener) }
        #expect(replay.core.offer(1) == .sent(takerCount: 2, letGo: 1))
        #expect(replay.leave(1) == ["a leaves", "b: 1"])
    }

    // MARK: Nothing waits: the rules of a passthrough

    @Test func whatIsSentWithoutDemandIsLost() {
        var replay = Replay(bufferSize: 0, .none)
        let name = replay.subscribe()
        #expect(replay.offer(1) == ["to 0"])
        #expect(replay.come(name) == [])
        #expect(replay.offer(2) == ["to 1", "c: 2"])
        #expect(replay.offer(3) == ["to 0"])
        replay.complete()
        #expect(replay.come(name) == ["end"])
    }

    @Test func demandIsKeptForEach() {
        var replay = Replay(bufferSize: 0, .none)
        let name = replay.subscribe()
        replay.request(2, by: name)
        replay.offer(1)
        let other = replay.subscribe()
        replay.come(other, "other")
        #expect(replay.offer(2) == ["to 2", "other: 2"])
        #expect(replay.offer(3) == ["to 0"])
        for value in 1...2 { #expect(replay.come(name) == ["\(value)"]) }
        #expect(replay.offer(4) == ["to 0"])
        replay.complete(.failed(Broken()))
        #expect(replay.come(name) == ["broken"])
    }
}
