import Testing

@testable import PenstockStreams

/// Every state against every event. Consumers, pullers and timers are names here, and moments are numbers.
@Suite struct DelayStateMachineTests {
    typealias Machine = DelayStateMachine<Int, Int, Broken, String, String, String>

    private func machine(after events: (inout Machine) -> Any...) -> Machine {
        var machine = Machine(holding: 1)
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var consumerWaits: Machine { machine(after: { $0.next("consumer") as Any }) }
    private var timerWaits: Machine {
        machine(after: { $0.next("consumer") as Any }, { $0.timerWaits("timer") as Any })
    }
    /// One is held, which is as many as may be; everybody waits, but the timer sleeps.
    private var holding: Machine {
        machine(
            after: { $0.next("consumer") as Any }, { $0.timerWaits("timer") as Any }, { $0.mayPull() as Any },
            { $0.arrived(1, due: 10) as Any }, { $0.pullerWaits("puller") as Any })
    }
    /// The next one is held and due, and the consumer is busy with the one before.
    private var dueAndConsumerIsBusy: Machine {
        var machine = holding
        _ = machine.dueCame(10)
        _ = machine.arrived(2, due: 20)
        _ = machine.dueCame(20)
        _ = machine.pullerWaits("puller")
        return machine
    }
    private var finished: Machine {
        machine(
            after: { $0.next("consumer") as Any }, { $0.upstreamFinished(due: 30) as Any },
            { $0.dueCame(30) as Any })
    }
    private var stoppingByFailure: Machine {
        machine(after: { $0.next("consumer") as Any }, { $0.failed(Broken()) as Any })
    }
    private var stoppingAsLetGo: Machine { machine(after: { $0.next("consumer") as Any }, { $0.letGo() as Any }) }
    private var endedUntold: Machine {
        var machine = dueAndConsumerIsBusy
        _ = machine.failed(Broken())
        _ = machine.tasksEnded()
        return machine
    }
    private var ended: Machine { machine(after: { $0.next("consumer") as Any }, { $0.tasksEnded() as Any }) }
    /// The one that is due is still to be taken.
    private var endedAndDue: Machine {
        var machine = dueAndConsumerIsBusy
        _ = machine.upstreamFinished(due: 30)
        _ = machine.tasksEnded()
        return machine
    }

    // MARK: One event each, in every state

    @Test func take() {
        for state in [idle, consumerWaits, holding, finished, stoppingByFailure, endedUntold, ended] {
            var machine = state
            #expect(machine.take() == nil)
        }
        var busy = dueAndConsumerIsBusy
        #expect(busy.take().map { $0 == (2, "puller") } == true)
        var last = endedAndDue
        #expect(last.take()?.element == 2)
    }

    @Test func next() {
        expect(idle, { $0.next("c") }, gives: .start(1))
        expect(dueAndConsumerIsBusy, { $0.next("c") }, gives: .give(2, to: "c", "puller"))
        expect(endedUntold, { $0.next("c") }, gives: .end("c", Broken()))
        expect(endedAndDue, { $0.next("c") }, gives: .give(2, to: "c", "puller"))
        expect(ended, { $0.next("c") }, gives: .end("c", nil))
        var busy = holding
        _ = busy.dueCame(10)
        #expect(busy.next("c") == nil)
        var stopping = dueAndConsumerIsBusy
        _ = stopping.letGo()
        #expect(stopping.next("c") == nil)
    }

    @Test func nextWhileAnotherIsUnderWay() async {
        await #expect(processExitsWith: .failure) {
            var machine = DelayStateMachine<Int, Int, Broken, String, String, String>(holding: 1)
            _ = machine.next("one")
            _ = machine.next("two")
        }
    }

    @Test func pullerWaits() {
        expect(consumerWaits, { $0.pullerWaits("p") }, gives: .goOn("p", true))
        expect(holding, { $0.pullerWaits("p") }, gives: nil)
        expect(stoppingByFailure, { $0.pullerWaits("p") }, gives: .goOn("p", false))
        expect(stoppingAsLetGo, { $0.pullerWaits("p") }, gives: .goOn("p", false))
    }

    @Test func arrived() {
        expect(consumerWaits, { $0.arrived(7, due: 70) }, gives: nil)
        expect(timerWaits, { $0.arrived(7, due: 70) }, gives: .sleep("timer", until: 70))
        expect(dueAndConsumerIsBusy, { $0.arrived(7, due: 70) }, gives: nil)
        expect(stoppingByFailure, { $0.arrived(7, due: 70) }, gives: nil)
        expect(stoppingAsLetGo, { $0.arrived(7, due: 70) }, gives: nil)
    }

    @Test func upstreamFinished() {
        expect(consumerWaits, { $0.upstreamFinished(due: 70) }, gives: nil)
        expect(timerWaits, { $0.upstreamFinished(due: 70) }, gives: .sleep("timer", until: 70))
        expect(holding, { $0.upstreamFinished(due: 70) }, gives: nil)
        expect(stoppingByFailure, { $0.upstreamFinished(due: 70) }, gives: nil)
        expect(stoppingAsLetGo, { $0.upstreamFinished(due: 70) }, gives: nil)
    }

    @Test func timerWaitsForTheNextMoment() {
        expect(consumerWaits, { $0.timerWaits("t") }, gives: nil)
        expect(dueAndConsumerIsBusy, { $0.timerWaits("t") }, gives: nil)
        expect(finished, { $0.timerWaits("t") }, gives: .sleep("t", until: nil))
        expect(stoppingByFailure, { $0.timerWaits("t") }, gives: .sleep("t", until: nil))
        expect(stoppingAsLetGo, { $0.timerWaits("t") }, gives: .sleep("t", until: nil))
        var holding = consumerWaits
        _ = holding.arrived(1, due: 10)
        expect(holding, { $0.timerWaits("t") }, gives: .sleep("t", until: 10))
        var finishing = consumerWaits
        _ = finishing.upstreamFinished(due: 30)
        expect(finishing, { $0.timerWaits("t") }, gives: .sleep("t", until: 30))
    }

    @Test func dueCame() {
        expect(holding, { $0.dueCame(10) }, gives: .give(1, to: "consumer", "puller"))
        expect(holding, { $0.dueCame(9) }, gives: .give(1, to: "consumer", "puller"))
        expect(dueAndConsumerIsBusy, { $0.dueCame(90) }, gives: nil)
        expect(finished, { $0.dueCame(90) }, gives: nil)
        expect(stoppingByFailure, { $0.dueCame(90) }, gives: nil)
        expect(stoppingAsLetGo, { $0.dueCame(90) }, gives: nil)
    }

    @Test func failed() {
        expect(consumerWaits, { $0.failed(Broken()) }, gives: .stop(nil, nil, []))
        expect(timerWaits, { $0.failed(Broken()) }, gives: .stop(nil, "timer", []))
        expect(holding, { $0.failed(Broken()) }, gives: .stop("puller", nil, [1]))
        expect(stoppingByFailure, { $0.failed(Broken(name: "later")) }, gives: nil)
        expect(stoppingAsLetGo, { $0.failed(Broken()) }, gives: nil)
    }

    @Test func letGo() {
        expect(idle, { $0.letGo() }, gives: nil)
        expect(consumerWaits, { $0.letGo() }, gives: .stop(nil, nil, []))
        expect(timerWaits, { $0.letGo() }, gives: .stop(nil, "timer", []))
        expect(holding, { $0.letGo() }, gives: .stop("puller", nil, [1]))
        expect(stoppingByFailure, { $0.letGo() }, gives: nil)
        expect(ended, { $0.letGo() }, gives: .stop(nil, nil, []))
        expect(endedAndDue, { $0.letGo() }, gives: .stop(nil, nil, [2]))
    }

    @Test func tasksEnded() {
        expect(finished, { $0.tasksEnded() }, gives: .end("consumer", nil))
        expect(stoppingByFailure, { $0.tasksEnded() }, gives: .end("consumer", Broken()))
        expect(stoppingAsLetGo, { $0.tasksEnded() }, gives: .end("consumer", nil))
        expect(dueAndConsumerIsBusy, { $0.tasksEnded() }, gives: nil)
    }

    // MARK: What holds over several events

    @Test func theTimerGoesOnWhileTheConsumerIsBusy() {
        var machine = Machine(holding: 2)
        _ = machine.next("consumer")
        _ = machine.arrived(1, due: 10)
        _ = machine.arrived(2, due: 20)
        #expect(machine.timerWaits("timer") == .sleep("timer", until: 10))
        #expect(machine.dueCame(10) == .give(1, to: "consumer", nil))
        #expect(machine.timerWaits("timer") == .sleep("timer", until: 20))
        #expect(machine.dueCame(20) == nil)
        #expect(machine.upstreamFinished(due: 30) == nil)
        #expect(machine.timerWaits("timer") == .sleep("timer", until: 30))
        #expect(machine.dueCame(30) == nil)
        #expect(machine.timerWaits("timer") == .sleep("timer", until: nil))
        #expect(machine.next("c") == .give(2, to: "c", nil))
    }

    @Test func upstreamIsAskedForOneMoreForEachThatIsTaken() {
        var machine = dueAndConsumerIsBusy
        #expect(machine.next("c") == .give(2, to: "c", "puller"))
        #expect(machine.mayPull() == nil)
        _ = machine.arrived(3, due: 30)
        #expect(machine.dueCame(30) == nil)
        #expect(machine.next("c") == .give(3, to: "c", nil))
        #expect(machine.mayPull() == true)
    }

    @Test func aFailureIsToldOnce() {
        var machine = endedUntold
        #expect(machine.next("c") == .end("c", Broken()))
        #expect(machine.next("c") == .end("c", nil))
    }
}
