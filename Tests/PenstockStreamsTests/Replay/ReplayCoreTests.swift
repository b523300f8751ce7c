import Testing

@testable import PenstockStreams

/// A replay whose listeners and senders are names. What an event gives is told in words: first the answer to the
/// caller, then the steps.
struct DrivenReplay {
    typealias Core = ReplayCore<Int, Broken, String, String>

    var core: Core

    init(bufferSize: Int = 1, _ backlog: ReplayBacklog<Broken> = .suspendSender(at: 2)) {
        core = Core(bufferSize: bufferSize, backlog: backlog)
    }

    private mutating func after(_ answer: String?) -> [String] {
        var told = answer.map { [$0] } ?? []
        while let step = core.next() {
            switch step {
            case .tell(let listener, let word, _): told.append("\(listener): \(text(word))")
            case .admitted(let sender, _): told.append("\(sender) sent")
            case .drop(let element): told.append("drop \(element)")
            }
        }
        return told
    }

    private func text(_ word: Core.Word) -> String {
        switch word {
        case .give(let element): "\(element)"
        case .end(nil): "end"
        case .end(let failure?): failure.name
        case .cut(let failure): "cut, \(failure().name)"
        }
    }

    private func text(_ sending: Core.Sending) -> String {
        switch sending {
        case .sent(let takerCount, _): "to \(takerCount)"
        case .noRoom: "no room"
        case .refused: "refused"
        }
    }

    @discardableResult mutating func subscribe() -> Int { core.subscribe() }

    @discardableResult mutating func come(_ name: Int = 1, _ listener: String = "c") -> [String] {
        let word = core.come(name, listener)
        return after(word.map(text))
    }

    /// Comes without a listener, as for what is there already.
    mutating func take(_ name: Int = 1) -> [String] {
        let word = core.come(name, nil)
        return after(word.map(text))
    }

    @discardableResult mutating func request(_ count: Int, by name: Int = 1) -> [String] {
        core.request(count, by: name)
        return after(nil)
    }

    @discardableResult mutating func offer(_ element: Int) -> [String] {
        let sending = core.offer(element)
        return after(text(sending))
    }

    @discardableResult mutating func send(_ element: Int, _ sender: String, as name: Int = 9) -> [String] {
        let sending = core.send(element, sender, as: name)
        return after(text(sending))
    }

    @discardableResult mutating func withdraw(_ name: Int = 9) -> [String] {
        let left = core.withdraw(name)
        return after(left.map { "\($0.sender) leaves" })
    }

    @discardableResult mutating func complete(_ completion: Completion<Broken> = .finished) -> [String] {
        core.complete(completion)
        return after(nil)
    }

    @discardableResult mutating func leave(_ name: Int = 1) -> [String] {
        let left = core.leave(name)
        return after(left?.listener.map { "\($0) leaves" })
    }
}

/// Every state of a subscription, of the line of senders and of the whole against every event. The first subscriber is
/// 1, and backlogs have two places.
@Suite struct ReplayCoreTests {
    typealias Replay = DrivenReplay

    private func replay(
        _ backlog: ReplayBacklog<Broken> = .suspendSender(at: 2), after events: (inout Replay) -> Void...
    ) -> Replay {
        var replay = Replay(backlog)
        for event in events { event(&replay) }
        return replay
    }

    // The states, each by the shortest way there.
    private var empty: Replay { replay() }
    private var subscribed: Replay { replay(after: { $0.subscribe() }) }
    private var waits: Replay { replay(after: { $0.subscribe() }, { $0.come(1, "consumer") }) }
    private func full(_ backlog: ReplayBacklog<Broken> = .suspendSender(at: 2)) -> Replay {
        replay(backlog, after: { $0.subscribe() }, { $0.offer(1) }, { $0.offer(2) })
    }
    /// A sender stands in line as 9.
    private var fullAndSenderWaits: Replay {
        var replay = full()
        replay.send(3, "sender")
        return replay
    }
    private var cut: Replay {
        var replay = full(.endSubscriber(at: 2) { Broken(name: "behind") })
        replay.offer(3)
        return replay
    }
    private func over(_ replay: Replay, _ completion: Completion<Broken> = .finished) -> Replay {
        var replay = replay
        replay.complete(completion)
        return replay
    }
    private let failed = Completion.failed(Broken())

    @Test func coming() {
        expect(empty, { $0.come() }, gives: ["end"])
        expect(subscribed, { $0.come() }, gives: [])
        expect(full(), { $0.come() }, gives: ["1"])
        expect(fullAndSenderWaits, { $0.come() }, gives: ["1", "sender sent"])
        expect(cut, { $0.come() }, gives: ["1"])
        expect(over(subscribed), { $0.come() }, gives: ["end"])
        expect(over(subscribed, failed), { $0.come() }, gives: ["broken"])
        expect(over(full(), failed), { $0.come() }, gives: ["1"])
        expect(over(waits), { $0.come() }, gives: ["end"])
    }

    @Test func comingWhileAnotherIsUnderWay() async {
        await #expect(processExitsWith: .failure) {
            var replay = DrivenReplay()
            replay.subscribe()
            replay.come(1, "one")
            replay.come(1, "two")
        }
    }

    @Test func taking() {
        expect(empty, { $0.take() }, gives: ["end"])
        expect(subscribed, { $0.take() }, gives: [])
        expect(full(), { $0.take() }, gives: ["1"])
        expect(fullAndSenderWaits, { $0.take() }, gives: ["1", "sender sent"])
        expect(cut, { $0.take() }, gives: ["1"])
        // The end is for a listener that waits.
        expect(over(subscribed, failed), { $0.take() }, gives: [])
        expect(over(full(), failed), { $0.take() }, gives: ["1"])
    }

    @Test func request() {
        expect(empty, { $0.request(1) }, gives: [])
        expect(subscribed, { $0.request(1) }, gives: [])
        expect(waits, { $0.request(1) }, gives: [])
        expect(full(), { $0.request(1) }, gives: [])
        expect(fullAndSenderWaits, { $0.request(1) }, gives: ["sender sent"])
        expect(over(full()), { $0.request(1) }, gives: [])
    }

    @Test func send() {
        expect(empty, { $0.send(7, "s") }, gives: ["to 0"])
        expect(subscribed, { $0.send(7, "s") }, gives: ["to 1"])
        expect(waits, { $0.send(7, "s") }, gives: ["to 1", "consumer: 7"])
        expect(full(), { $0.send(7, "s") }, gives: ["no room"])
        expect(full(.dropOldest(at: 2)), { $0.send(7, "s") }, gives: ["to 1", "drop 1"])
        expect(full(.unbounded), { $0.send(7, "s") }, gives: ["to 1"])
        expect(full(.endSubscriber(at: 2) { Broken() }), { $0.send(7, "s") }, gives: ["to 0"])
        expect(fullAndSenderWaits, { $0.send(7, "s", as: 10) }, gives: ["no room"])
        expect(cut, { $0.send(7, "s") }, gives: ["to 0"])
        expect(over(subscribed), { $0.send(7, "s") }, gives: ["refused"])
        expect(over(fullAndSenderWaits), { $0.send(7, "s", as: 10) }, gives: ["refused"])
    }

    @Test func offer() {
        expect(empty, { $0.offer(7) }, gives: ["to 0"])
        expect(waits, { $0.offer(7) }, gives: ["to 1", "consumer: 7"])
        expect(full(), { $0.offer(7) }, gives: ["no room"])
        expect(full(.dropOldest(at: 2)), { $0.offer(7) }, gives: ["to 1", "drop 1"])
        expect(fullAndSenderWaits, { $0.offer(7) }, gives: ["no room"])
        expect(cut, { $0.offer(7) }, gives: ["to 0"])
        expect(over(empty), { $0.offer(7) }, gives: ["refused"])
    }

    @Test func withdraw() {
        expect(full(), { $0.withdraw() }, gives: [])
        expect(fullAndSenderWaits, { $0.withdraw() }, gives: ["sender leaves"])
        expect(over(fullAndSenderWaits), { $0.withdraw() }, gives: ["sender leaves"])
        expect(over(empty), { $0.withdraw() }, gives: [])
    }

    @Test func complete() {
        expect(empty, { $0.complete() }, gives: [])
        expect(subscribed, { $0.complete() }, gives: [])
        expect(waits, { $0.complete() }, gives: ["consumer: end"])
        expect(waits, { $0.complete(failed) }, gives: ["consumer: broken"])
        expect(fullAndSenderWaits, { $0.complete() }, gives: [])
        expect(over(subscribed), { $0.complete(failed) }, gives: [])
        expect(over(fullAndSenderWaits), { $0.complete(failed) }, gives: [])
    }

    @Test func leave() {
        expect(empty, { $0.leave() }, gives: [])
        expect(subscribed, { $0.leave() }, gives: [])
        expect(waits, { $0.leave() }, gives: ["consumer leaves"])
        expect(full(), { $0.leave() }, gives: [])
        expect(fullAndSenderWaits, { $0.leave() }, gives: ["sender sent"])
        expect(cut, { $0.leave() }, gives: [])
        expect(over(full()), { $0.leave() }, gives: [])
        for replay in [subscribed, waits, full(), fullAndSenderWaits, cut, over(full())] {
            var replay = replay
            replay.leave()
            #expect(replay.core.subscriberCount == 0)
        }
    }

    @Test func theLineIsTakenWhenNobodyWantsIt() {
        var replay = fullAndSenderWaits
        #expect(replay.core.takeLine().map(\.sender) == ["sender"])
        #expect(replay.leave() == [])
        #expect(replay.send(4, "s") == ["to 0"])
    }
}
