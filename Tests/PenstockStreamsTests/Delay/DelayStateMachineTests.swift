import Testing

@testable import PenstockStreams

/// Every state against every event. Consumers, pullers and timers are names here, and moments are numbers.
@Suite struct DelayStateMachineTests {
    typealias Machine = DelayStateMachine<Int, Int, Broken, String, String, String>

    private func machine(after events: (inout Machine) -> [Machine.Action]...) -> Machine {
        var machine = Machine(holding: 1)
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var consumerWaits: Machine { machine(after: { $0.next("consumer") }) }
    private var timerWaits: Machine { machine(after: { $0.next("consumer") }, { $0.timerAsks("timer") }) }
    /// One is held, which is as many as may be; everybody waits, but the timer sleeps.
    private var holding: Machine {
        machine(
            after: { $0.next("consumer") }, { $0.timerAsks("timer") }, { $0.pullerAsks("puller") },
            { $0.arrived(1, due: 10) }, { $0.pullerAsks("puller") })
    }
    /// The next one is held and due, and the consumer is busy with the one before.
    private var dueAndConsumerIsBusy: Machine {
        var machine = holding
        _ = machine.dueCame()
        _ = machine.arrived(2, due: 20)
        _ = machine.dueCame()
        _ = machine.pullerAsks("puller")
        return machine
    }
    private var finishing: Machine {
        machine(after: { $0.next("consumer") }, { $0.timerAsks("timer") }, { $0.upstreamFinished(due: 30) })
    }
    private var finished: Machine {
        var machine = finishing
        _ = machine.dueCame()
        return machine
    }
    private var stoppingByFailure: Machine { machine(after: { $0.next("consumer") }, { $0.failed(Broken()) }) }
    private var stoppingAsLetGo: Machine { machine(after: { $0.next("consumer") }, { $0.letGo() }) }
    private var endedUntold: Machine {
        var machine = dueAndConsumerIsBusy
        _ = machine.failed(Broken())
        _ = machine.tasksEnded()
        return machine
    }
    private var ended: Machine { machine(after: { $0.next("consumer") }, { $0.tasksEnded() }) }

    // MARK: One event each, in every state

    @Test func next() {
        expect(idle, { $0.next("c") }, gives: [.start, .ask(1)])
        expect(dueAndConsumerIsBusy, { $0.next("c") }, gives: [.give(2, to: "c"), .ask(1), .goOn("puller")])
        expect(endedUntold, { $0.next("c") }, gives: [.end("c", Broken())])
        expect(ended, { $0.next("c") }, gives: [.end("c", nil)])
        var busy = holding
        _ = busy.dueCame()
        expect(busy, { $0.next("c") }, gives: [])
        var stopping = busy
        _ = stopping.failed(Broken())
        expect(stopping, { $0.next("c") }, gives: [])
    }

    @Test func pullerAsks() {
        expect(consumerWaits, { $0.pullerAsks("p") }, gives: [.goOn("p")])
        expect(timerWaits, { $0.pullerAsks("p") }, gives: [.goOn("p")])
        var asked = consumerWaits
        _ = asked.pullerAsks("p")
        expect(asked, { $0.pullerAsks("p") }, gives: [])
        expect(stoppingByFailure, { $0.pullerAsks("p") }, gives: [.stop("p")])
        expect(stoppingAsLetGo, { $0.pullerAsks("p") }, gives: [.stop("p")])
    }

    @Test func arrived() {
        expect(consumerWaits, { $0.arrived(7, due: 70) }, gives: [])
        expect(timerWaits, { $0.arrived(7, due: 70) }, gives: [.sleep("timer", until: 70)])
        expect(holding, { $0.arrived(7, due: 70) }, gives: [])
        expect(dueAndConsumerIsBusy, { $0.arrived(7, due: 70) }, gives: [])
        expect(stoppingByFailure, { $0.arrived(7, due: 70) }, gives: [])
        expect(stoppingAsLetGo, { $0.arrived(7, due: 70) }, gives: [])
    }

    @Test func upstreamFinished() {
        expect(consumerWaits, { $0.upstreamFinished(due: 70) }, gives: [])
        expect(timerWaits, { $0.upstreamFinished(due: 70) }, gives: [.sleep("timer", until: 70)])
        expect(holding, { $0.upstreamFinished(due: 70) }, gives: [])
        expect(dueAndConsumerIsBusy, { $0.upstreamFinished(due: 70) }, gives: [])
        expect(stoppingByFailure, { $0.upstreamFinished(due: 70) }, gives: [])
        expect(stoppingAsLetGo, { $0.upstreamFinished(due: 70) }, gives: [])
    }

    @Test func timerAsks() {
        expect(consumerWaits, { $0.timerAsks("t") }, gives: [])
        expect(holding, { $0.timerAsks("t") }, gives: [.sleep("t", until: 10)])
        expect(dueAndConsumerIsBusy, { $0.timerAsks("t") }, gives: [])
        expect(finishing, { $0.timerAsks("t") }, gives: [.sleep("t", until: 30)])
        expect(finished, { $0.timerAsks("t") }, gives: [.rest("t")])
        expect(stoppingByFailure, { $0.timerAsks("t") }, gives: [.rest("t")])
        expect(stoppingAsLetGo, { $0.timerAsks("t") }, gives: [.rest("t")])
    }

    @Test func dueCame() {
        expect(holding, { $0.dueCame() }, gives: [.give(1, to: "consumer"), .ask(1), .goOn("puller")])
        expect(finishing, { $0.dueCame() }, gives: [])
        expect(stoppingByFailure, { $0.dueCame() }, gives: [])
        expect(stoppingAsLetGo, { $0.dueCame() }, gives: [])
    }

    @Test func failed() {
        expect(consumerWaits, { $0.failed(Broken()) }, gives: [.cancel])
        expect(timerWaits, { $0.failed(Broken()) }, gives: [.cancel, .rest("timer")])
        expect(holding, { $0.failed(Broken()) }, gives: [.cancel, .stop("puller")])
        expect(stoppingByFailure, { $0.failed(Broken(name: "later")) }, gives: [])
        expect(stoppingAsLetGo, { $0.failed(Broken()) }, gives: [])
    }

    @Test func letGo() {
        expect(idle, { $0.letGo() }, gives: [])
        expect(consumerWaits, { $0.letGo() }, gives: [.cancel])
        expect(timerWaits, { $0.letGo() }, gives: [.cancel, .rest("timer")])
        expect(holding, { $0.letGo() }, gives: [.cancel, .stop("puller")])
        expect(stoppingByFailure, { $0.letGo() }, gives: [])
        expect(ended, { $0.letGo() }, gives: [])
    }

    @Test func tasksEnded() {
        expect(finished, { $0.tasksEnded() }, gives: [.end("consumer", nil)])
        expect(stoppingByFailure, { $0.tasksEnded() }, gives: [.end("consumer", Broken())])
        expect(stoppingAsLetGo, { $0.tasksEnded() }, gives: [.end("consumer", nil)])
        expect(dueAndConsumerIsBusy, { $0.tasksEnded() }, gives: [])
    }

    // MARK: What holds over several events

    @Test func theTimerSleepsForTheNextWhenTheLastIsTaken() {
        var machine = Machine(holding: 2)
        _ = machine.next("consumer")
        _ = machine.arrived(1, due: 10)
        _ = machine.arrived(2, due: 20)
        #expect(machine.timerAsks("timer") == [.sleep("timer", until: 10)])
        #expect(machine.dueCame() == [.give(1, to: "consumer"), .ask(1)])
        #expect(machine.timerAsks("timer") == [.sleep("timer", until: 20)])
        #expect(machine.dueCame() == [])
        #expect(machine.upstreamFinished(due: 30) == [])
        #expect(machine.timerAsks("timer") == [])
        #expect(machine.next("c") == [.give(2, to: "c"), .ask(1), .sleep("timer", until: 30)])
    }

    @Test func aFailureIsToldOnce() {
        var machine = endedUntold
        #expect(machine.next("c") == [.end("c", Broken())])
        #expect(machine.next("c") == [.end("c", nil)])
    }
}
