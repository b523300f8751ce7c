import Testing

@testable import PenstockStreams

/// Every state against every event. Consumers and pullers are names here.
@Suite struct BufferStateMachineTests {
    typealias Machine = BufferStateMachine<Int, Broken, String, String>

    /// A machine to which these events have happened.
    private func machine(
        size: Int = 2, _ prefetch: BufferPrefetch = .keepFull, _ whenFull: BufferOverflow<Broken> = .dropNewest,
        after events: (inout Machine) -> Any?...
    ) -> Machine {
        var machine = Machine(.init(size: size, prefetch: prefetch, whenFull: .init(whenFull)))
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var idleAndAskedInAdvance: Machine { machine(after: { $0.request(3) }) }
    private var consumerWaits: Machine { machine(after: { $0.next("consumer") }) }
    private var consumerIsBusy: Machine { machine(after: { $0.next("consumer") }, { $0.arrived(1) }) }
    private func full(_ prefetch: BufferPrefetch = .keepFull, _ whenFull: BufferOverflow<Broken> = .dropNewest)
        -> Machine
    {
        machine(
            prefetch, whenFull, after: { $0.next("consumer") }, { $0.arrived(1) }, { $0.arrived(2) }, { $0.arrived(3) })
    }
    private var paused: Machine {
        var machine = full()
        _ = machine.arrived(4)
        _ = machine.pullerAsks("puller")
        return machine
    }
    private var delivered: Machine {
        machine(after: { $0.request(2) }, { $0.next("consumer") }, { $0.arrived(1) }, { $0.arrived(2) })
    }
    private var stoppingByFailure: Machine {
        machine(after: { $0.next("consumer") }, { $0.arrived(1) }, { $0.arrived(2) }, { $0.failed(Broken()) })
    }
    private var stoppingAndConsumerWaits: Machine { machine(after: { $0.next("consumer") }, { $0.failed(Broken()) }) }
    private var stoppingAsLetGo: Machine { machine(after: { $0.next("consumer") }, { $0.letGo() }) }
    private var endedAndValuesWait: Machine {
        machine(
            after: { $0.next("consumer") }, { $0.arrived(1) }, { $0.arrived(2) }, { $0.arrived(3) },
            { $0.tasksEnded() })
    }
    private var endedUntold: Machine {
        var machine = stoppingByFailure
        _ = machine.tasksEnded()
        return machine
    }
    private var ended: Machine { machine(after: { $0.next("consumer") }, { $0.tasksEnded() }) }

    // MARK: One event each, in every state

    @Test func next() {
        expect(idle, { $0.next("c") }, gives: [.start, .ask(4)])
        expect(idleAndAskedInAdvance, { $0.next("c") }, gives: [.start, .ask(6)])
        expect(machine(.byRequest), { $0.next("c") }, gives: [.start, .ask(.max)])
        expect(consumerIsBusy, { $0.next("c") }, gives: [.ask(1)])
        expect(full(), { $0.next("c") }, gives: [.give(2, to: "c"), .ask(1)])
        expect(full(.byRequest), { $0.next("c") }, gives: [.give(2, to: "c")])
        expect(paused, { $0.next("c") }, gives: [.give(2, to: "c"), .ask(2), .goOn("puller")])
        expect(delivered, { $0.next("c") }, gives: [.give(2, to: "c")])
        expect(stoppingByFailure, { $0.next("c") }, gives: [])
        expect(stoppingAsLetGo.told, { $0.next("c") }, gives: [.end("c", nil)])
        expect(endedAndValuesWait, { $0.next("c") }, gives: [.give(2, to: "c")])
        expect(endedUntold, { $0.next("c") }, gives: [.end("c", Broken())])
        expect(ended, { $0.next("c") }, gives: [.end("c", nil)])
    }

    @Test func nextWhileAnotherIsUnderWay() async {
        await #expect(processExitsWith: .failure) {
            var machine = BufferStateMachine<Int, Broken, String, String>(
                .init(size: 1, prefetch: .keepFull, whenFull: .dropNewest))
            _ = machine.next("one")
            _ = machine.next("two")
        }
    }

    @Test func take() {
        for machine in [idle, idleAndAskedInAdvance, consumerIsBusy, stoppingByFailure, stoppingAsLetGo, ended] {
            var machine = machine
            #expect(machine.take()?.element == nil)
        }
        expect(full(), { $0.taken }, gives: [.give(2, to: "taken"), .ask(1)])
        expect(full(.byRequest), { $0.taken }, gives: [.give(2, to: "taken")])
        expect(paused, { $0.taken }, gives: [.give(2, to: "taken"), .ask(2), .goOn("puller")])
        expect(delivered, { $0.taken }, gives: [.give(2, to: "taken")])
        expect(endedAndValuesWait, { $0.taken }, gives: [.give(2, to: "taken")])
    }

    @Test func request() {
        expect(idle, { $0.request(2) }, gives: [])
        expect(consumerWaits, { $0.request(2) }, gives: [.ask(2)])
        expect(consumerIsBusy, { $0.request(2) }, gives: [.ask(2)])
        expect(full(), { $0.request(1) }, gives: [.ask(1)])
        expect(paused, { $0.request(1) }, gives: [.ask(2), .goOn("puller")])
        expect(paused, { $0.request(3) }, gives: [.ask(4), .goOn("puller")])
        expect(stoppingByFailure, { $0.request(1) }, gives: [])
        expect(endedAndValuesWait, { $0.request(1) }, gives: [])
        expect(ended, { $0.request(.max) }, gives: [])
    }

    @Test func pullerAsks() {
        expect(consumerWaits, { $0.pullerAsks("p") }, gives: .goOn("p"))
        expect(consumerIsBusy, { $0.pullerAsks("p") }, gives: .goOn("p"))
        expect(full(), { $0.pullerAsks("p") }, gives: .goOn("p"))
        var overflowed = full()
        _ = overflowed.arrived(4)
        expect(overflowed, { $0.pullerAsks("p") }, gives: nil)
        expect(stoppingByFailure, { $0.pullerAsks("p") }, gives: .stop("p"))
        expect(stoppingAsLetGo, { $0.pullerAsks("p") }, gives: .stop("p"))
    }

    @Test func arrived() {
        expect(consumerWaits, { $0.arrived(7) }, gives: .give(7, to: "consumer"))
        expect(consumerIsBusy, { $0.arrived(7) }, gives: nil)
        expect(full(), { $0.arrived(7) }, gives: .discard(7))
        expect(full(.byRequest, .dropOldest), { $0.arrived(7) }, gives: .discard(2))
        expect(full(.byRequest, .customError { Broken() }), { $0.arrived(7) }, gives: .overflow(7))
        expect(stoppingByFailure, { $0.arrived(7) }, gives: nil)
        expect(stoppingAsLetGo, { $0.arrived(7) }, gives: nil)
    }

    @Test func failed() {
        expect(consumerWaits, { $0.failed(Broken()) }, gives: [.cancel])
        expect(full(), { $0.failed(Broken()) }, gives: [.cancel, .release([2, 3])])
        expect(paused, { $0.failed(Broken()) }, gives: [.cancel, .stop("puller"), .release([2, 3])])
        expect(stoppingByFailure, { $0.failed(Broken(name: "later")) }, gives: [])
        expect(stoppingAsLetGo, { $0.failed(Broken()) }, gives: [])
        expect(ended, { $0.failed(Broken()) }, gives: [])
    }

    @Test func letGo() {
        expect(idle, { $0.letGo() }, gives: [])
        expect(consumerWaits, { $0.letGo() }, gives: [.cancel])
        expect(full(), { $0.letGo() }, gives: [.cancel, .release([2, 3])])
        expect(paused, { $0.letGo() }, gives: [.cancel, .stop("puller"), .release([2, 3])])
        expect(stoppingByFailure, { $0.letGo() }, gives: [])
        expect(endedAndValuesWait, { $0.letGo() }, gives: [.release([2, 3])])
        expect(ended, { $0.letGo() }, gives: [])
    }

    @Test func tasksEnded() {
        expect(consumerWaits, { $0.tasksEnded() }, gives: .end("consumer", nil))
        expect(consumerIsBusy, { $0.tasksEnded() }, gives: nil)
        expect(stoppingAndConsumerWaits, { $0.tasksEnded() }, gives: .end("consumer", Broken()))
        expect(stoppingByFailure, { $0.tasksEnded() }, gives: nil)
        expect(stoppingAsLetGo, { $0.tasksEnded() }, gives: .end("consumer", nil))
    }

    // MARK: What holds over several events

    @Test func whatWaitsIsLetGoWithTheConsumer() {
        var machine = endedAndValuesWait
        _ = machine.letGo()
        #expect(machine.next("c") == [.end("c", nil)])
    }

    @Test func whatWasDeliveredComesBeforeAFailure() {
        var machine = delivered
        #expect(machine.failed(Broken()) == [.cancel])
        #expect(machine.tasksEnded() == nil)
        #expect(machine.next("c") == [.give(2, to: "c")])
        #expect(machine.next("c") == [.end("c", Broken())])
        #expect(machine.next("c") == [.end("c", nil)])
    }

    @Test func aBufferWithoutPlacesAsksAgainForEachDemand() {
        var machine = machine(size: 0, .keepFull, .dropOldest, after: { $0.next("consumer") }, { $0.arrived(1) })
        #expect(machine.arrived(2) == .discard(2))
        #expect(machine.pullerAsks("puller") == nil)
        #expect(machine.next("c") == [.ask(2), .goOn("puller")])
        #expect(machine.arrived(3) == .give(3, to: "c"))
    }
}

extension BufferStateMachine<Int, Broken, String, String> {
    /// What taking gives, as one who waits would be told of it.
    fileprivate var taken: [Action] {
        mutating get { take().map { [.give($0.element, to: "taken")] + $0.asking } ?? [] }
    }
}

extension BufferStateMachine {
    /// The machine once its tasks have ended and its consumer knows.
    fileprivate var told: Self {
        var machine = self
        _ = machine.tasksEnded()
        return machine
    }
}
