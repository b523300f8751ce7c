import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// What a replay does at the edges of a subscription and of its own life.
@Suite(.timeLimit(.minutes(5))) struct ReplayLifeTests {
    /// A value whose end uses the subject that had it, as an object that owns a subscription may.
    private final class Caller {
        let call: () -> Void
        init(_ call: @escaping () -> Void) { self.call = call }
        deinit { call() }
    }

    /// A subscription that is attached to a subject.
    private final class Attached: Subscription {
        let asked: Tally
        let cancelled: Tally
        init(asked: Tally, cancelled: Tally) {
            self.asked = asked
            self.cancelled = cancelled
        }
        func request(_ demand: Subscribers.Demand) { asked.add() }
        func cancel() { cancelled.add() }
    }

    /// A subscriber that does something while it is greeted, and writes down what it hears.
    private final class Greeted: Subscriber {
        typealias Input = Int
        typealias Failure = Never
        let heard = Guarded<[String]>([])
        private let whenGreeted: () -> Void

        init(_ whenGreeted: @escaping () -> Void) { self.whenGreeted = whenGreeted }

        func note(_ text: String) { heard.withLock { $0.append(text) } }

        func receive(subscription: any Subscription) {
            note("greeted")
            subscription.request(.unlimited)
            whenGreeted()
            note("knows its subscription")
        }
        func receive(_ input: Int) -> Subscribers.Demand {
            note("\(input)")
            return .none
        }
        func receive(completion: Subscribers.Completion<Never>) { note("end") }
    }

    private let inOrder = ["greeted", "knows its subscription", "1", "2", "end"]

    @Test func sendingDoesNotWaitUnlessThatIsChosen() async throws {
        let subject = ReplaySubject<Int, Never>(bufferSize: 0)
        let slow = Probe<Int, Never>()
        subject.subscribe(slow)
        let sent = Tally()
        let sender = Task.detached {
            for value in 1...1_000 { subject.send(value) }
            sent.add()
        }
        try await sent.wait(for: 1)
        await sender.value
        slow.request(1_000)
        #expect(slow.values == Array(1...1_000))
    }

    @Test func aSubscriberHearsOfNothingBeforeItWasGreeted() {
        let subject = ReplaySubject<Int, Never>(bufferSize: 1)
        subject.send(1)
        let subscriber = Greeted {
            subject.send(2)
            subject.send(completion: .finished)
        }
        subject.subscribe(subscriber)
        #expect(subscriber.heard.withLock { $0 } == inOrder)
    }

    @Test func aSubscriberOfASharedReplayHearsOfNothingBeforeItWasGreeted() {
        let source = PassthroughSubject<Int, Never>()
        let shared = source.shareReplay(1)
        let first = Probe<Int, Never>(demand: .max)
        shared.subscribe(first)
        source.send(1)
        let second = Greeted {
            source.send(2)
            source.send(completion: .finished)
        }
        shared.subscribe(second)
        #expect(second.heard.withLock { $0 } == inOrder)
        #expect(first.values == [1, 2])
    }

    @Test func aValueThatIsRememberedNoMoreMayCallTheSubject() {
        let subject = ReplaySubject<Caller, Never>(bufferSize: 2)
        let gone = Tally()
        let reading = subject.sink { _ in }
        for _ in 1...6 {
            subject.send(
                Caller { [weak subject] in
                    _ = subject?.subscriberCount
                    gone.add()
                })
        }
        #expect(gone.count == 4)
        reading.cancel()
    }

    @Test func whatASubscriberLeavesMayCallTheSubject() {
        let subject = ReplaySubject<Caller, Never>(bufferSize: 0)
        let gone = Tally()
        let probe = Probe<Caller, Never>()
        subject.subscribe(probe)
        for _ in 1...3 {
            subject.send(
                Caller { [weak subject] in
                    _ = subject?.subscriberCount
                    gone.add()
                })
        }
        probe.cancel()
        #expect(gone.count == 3)
    }

    @Test func anUpstreamThatHasEndedIsAskedForNothing() {
        let source = Source<Int, Never>()
        let shared = source.shareReplay(0, backlog: .suspendSender(at: 1))
        let slow = Probe<Int, Never>()
        shared.subscribe(slow)
        for value in 1...3 { source.send(value) }
        source.send(completion: .finished)
        let asked = source.asked
        slow.request(3)
        #expect(slow.values == [1, 2, 3])
        #expect(slow.isFinished)
        #expect(source.asked == asked)
    }

    @Test func aSubjectThatIsLetGoCancelsWhatIsAttached() {
        let asked = Tally()
        let cancelled = Tally()
        func attach() {
            let subject = ReplaySubject<Int, Never>(bufferSize: 1)
            for _ in 1...2 { subject.send(subscription: Attached(asked: asked, cancelled: cancelled)) }
            #expect(asked.count == 2)
            #expect(cancelled.count == 0)
        }
        attach()
        #expect(cancelled.count == 2)
    }

    /// Upstream has completed: what has read it goes with the last subscriber.
    @Test(arguments: [0, 1]) func aSharedReplayThatHasEndedIsLetGo(bufferSize: Int) {
        let live = Live()
        for _ in 1...3 {
            let shared = [live.token(), live.token()].publisher.shareReplay(bufferSize)
            let probe = Probe<Live.Token, Never>(demand: .max)
            shared.subscribe(probe)
            #expect(probe.values.count == 2)
        }
        #expect(live.count == 0)
    }
}
