import Testing

@testable import PenstockStreams

/// Every state against every event. Consumers and producers are names here.
@Suite struct FlatMapStateMachineTests {
    typealias Machine = FlatMapStateMachine<Int, Broken, String, String>

    /// A machine to which these events have happened.
    private func machine(maxConcurrent: Int = 2, after events: (inout Machine) -> Machine.Action...) -> Machine {
        var machine = Machine(maxConcurrent: maxConcurrent)
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var runningAndConsumerWaits: Machine { machine(after: { $0.next("consumer") }) }
    private var runningAndValuesWait: Machine {
        machine(
            after: { $0.next("consumer") }, { $0.innerProduced(1, "inner a") }, { $0.innerProduced(2, "inner b") },
            { $0.innerProduced(3, "inner c") })
    }
    private var runningAndNobodyWaits: Machine {
        machine(after: { $0.next("consumer") }, { $0.innerProduced(1, "inner a") })
    }
    private var runningAndUpstreamWaits: Machine {
        machine(
            maxConcurrent: 1, after: { $0.next("consumer") }, { $0.upstreamAsks("upstream") },
            { $0.upstreamAsks("upstream") })
    }
    private var stoppingByFailure: Machine {
        machine(after: { $0.next("consumer") }, { $0.innerProduced(1, "inner a") }, { $0.failed(Broken()) })
    }
    private var stoppingByFailureAndConsumerWaits: Machine {
        machine(after: { $0.next("consumer") }, { $0.failed(Broken()) })
    }
    private var stoppingAsLetGo: Machine { machine(after: { $0.next("consumer") }, { $0.letGo() }) }
    private var endedUntold: Machine {
        machine(
            after: { $0.next("consumer") }, { $0.innerProduced(1, "inner a") }, { $0.failed(Broken()) },
            { $0.tasksEnded() })
    }
    private var ended: Machine { machine(after: { $0.next("consumer") }, { $0.tasksEnded() }) }
    private var endedBeforeBegun: Machine { machine(after: { $0.letGo() }) }

    private func expect(
        _ machine: Machine, _ event: (inout Machine) -> Machine.Action, gives action: Machine.Action,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var machine = machine
        #expect(event(&machine) == action, sourceLocation: sourceLocation)
    }

    // MARK: One event each, in every state

    @Test func next() {
        expect(idle, { $0.next("c") }, gives: .start)
        expect(runningAndNobodyWaits, { $0.next("c") }, gives: .none)
        expect(runningAndValuesWait, { $0.next("c") }, gives: .give(2, to: "c", from: "inner b"))
        expect(stoppingByFailure, { $0.next("c") }, gives: .none)
        expect(endedUntold, { $0.next("c") }, gives: .end("c", Broken()))
        expect(ended, { $0.next("c") }, gives: .end("c", nil))
        expect(endedBeforeBegun, { $0.next("c") }, gives: .end("c", nil))
    }

    @Test func nextWhileAnotherIsUnderWay() async {
        await #expect(processExitsWith: .failure) {
            var machine = FlatMapStateMachine<Int, Broken, String, String>(maxConcurrent: 1)
            _ = machine.next("one")
            _ = machine.next("two")
        }
    }

    @Test func upstreamAsks() {
        expect(runningAndConsumerWaits, { $0.upstreamAsks("u") }, gives: .goOn("u"))
        expect(runningAndNobodyWaits, { $0.upstreamAsks("u") }, gives: .goOn("u"))
        expect(runningAndValuesWait, { $0.upstreamAsks("u") }, gives: .goOn("u"))
        expect(runningAndUpstreamWaits, { $0.upstreamAsks("u") }, gives: .none)
        expect(stoppingByFailure, { $0.upstreamAsks("u") }, gives: .stop("u"))
        expect(stoppingAsLetGo, { $0.upstreamAsks("u") }, gives: .stop("u"))
    }

    @Test func innerProduced() {
        expect(
            runningAndConsumerWaits, { $0.innerProduced(7, "i") }, gives: .give(7, to: "consumer", from: "i"))
        expect(runningAndNobodyWaits, { $0.innerProduced(7, "i") }, gives: .none)
        expect(runningAndValuesWait, { $0.innerProduced(7, "i") }, gives: .none)
        expect(stoppingByFailure, { $0.innerProduced(7, "i") }, gives: .stop("i"))
        expect(stoppingByFailureAndConsumerWaits, { $0.innerProduced(7, "i") }, gives: .stop("i"))
        expect(stoppingAsLetGo, { $0.innerProduced(7, "i") }, gives: .stop("i"))
    }

    @Test func innerFinished() {
        expect(runningAndConsumerWaits, { $0.innerFinished() }, gives: .none)
        expect(runningAndNobodyWaits, { $0.innerFinished() }, gives: .none)
        expect(runningAndUpstreamWaits, { $0.innerFinished() }, gives: .goOn("upstream"))
        expect(stoppingByFailure, { $0.innerFinished() }, gives: .none)
        expect(stoppingAsLetGo, { $0.innerFinished() }, gives: .none)
    }

    @Test func failed() {
        expect(runningAndConsumerWaits, { $0.failed(Broken()) }, gives: .cancel([]))
        expect(runningAndNobodyWaits, { $0.failed(Broken()) }, gives: .cancel([]))
        expect(runningAndValuesWait, { $0.failed(Broken()) }, gives: .cancel(["inner b", "inner c"]))
        expect(runningAndUpstreamWaits, { $0.failed(Broken()) }, gives: .cancel(["upstream"]))
        expect(stoppingByFailure, { $0.failed(Broken(name: "later")) }, gives: .none)
        expect(stoppingAsLetGo, { $0.failed(Broken()) }, gives: .none)
    }

    @Test func letGo() {
        expect(idle, { $0.letGo() }, gives: .none)
        expect(runningAndConsumerWaits, { $0.letGo() }, gives: .cancel([]))
        expect(runningAndNobodyWaits, { $0.letGo() }, gives: .cancel([]))
        expect(runningAndValuesWait, { $0.letGo() }, gives: .cancel(["inner b", "inner c"]))
        expect(runningAndUpstreamWaits, { $0.letGo() }, gives: .cancel(["upstream"]))
        expect(stoppingByFailure, { $0.letGo() }, gives: .none)
        expect(stoppingAsLetGo, { $0.letGo() }, gives: .none)
        expect(endedUntold, { $0.letGo() }, gives: .none)
        expect(ended, { $0.letGo() }, gives: .none)
    }

    @Test func tasksEnded() {
        expect(runningAndConsumerWaits, { $0.tasksEnded() }, gives: .end("consumer", nil))
        expect(runningAndNobodyWaits, { $0.tasksEnded() }, gives: .none)
        expect(stoppingByFailure, { $0.tasksEnded() }, gives: .none)
        expect(stoppingByFailureAndConsumerWaits, { $0.tasksEnded() }, gives: .end("consumer", Broken()))
        expect(stoppingAsLetGo, { $0.tasksEnded() }, gives: .end("consumer", nil))
    }

    // MARK: What holds over several events

    @Test func upstreamIsAskedForAsManyAsMayRun() {
        var machine = Machine(maxConcurrent: 3)
        _ = machine.next("consumer")
        for _ in 1...3 { #expect(machine.upstreamAsks("upstream") == .goOn("upstream")) }
        #expect(machine.upstreamAsks("upstream") == .none)
    }

    @Test func upstreamIsAskedForOneMoreForEachThatFinished() {
        var machine = runningAndUpstreamWaits
        #expect(machine.innerFinished() == .goOn("upstream"))
        #expect(machine.upstreamAsks("upstream") == .none)
        #expect(machine.innerFinished() == .goOn("upstream"))
    }

    @Test func roomIsKeptUntilUpstreamAsks() {
        var machine = machine(maxConcurrent: 1, after: { $0.next("consumer") }, { $0.upstreamAsks("upstream") })
        #expect(machine.innerFinished() == .none)
        #expect(machine.upstreamAsks("upstream") == .goOn("upstream"))
        #expect(machine.upstreamAsks("upstream") == .none)
    }

    @Test func valuesComeOutAsTheyCame() {
        var machine = runningAndValuesWait
        #expect(machine.next("c") == .give(2, to: "c", from: "inner b"))
        #expect(machine.innerProduced(4, "inner b") == .none)
        #expect(machine.next("c") == .give(3, to: "c", from: "inner c"))
        #expect(machine.next("c") == .give(4, to: "c", from: "inner b"))
        #expect(machine.next("c") == .none)
        #expect(machine.innerProduced(5, "inner a") == .give(5, to: "c", from: "inner a"))
    }

    @Test func theFirstFailureIsToldOnce() {
        var machine = stoppingByFailureAndConsumerWaits
        #expect(machine.failed(Broken(name: "later")) == .none)
        #expect(machine.tasksEnded() == .end("consumer", Broken()))
        #expect(machine.next("c") == .end("c", nil))
    }

    @Test func aFailureThatNobodyWaitedForIsToldOnce() {
        var machine = endedUntold
        #expect(machine.next("c") == .end("c", Broken()))
        #expect(machine.next("c") == .end("c", nil))
    }

    @Test func valuesThatNobodyTookAreLetGoAtTheEnd() {
        var machine = runningAndValuesWait
        _ = machine.failed(Broken())
        #expect(machine.next("c") == .none)
        #expect(machine.tasksEnded() == .end("c", Broken()))
    }
}
