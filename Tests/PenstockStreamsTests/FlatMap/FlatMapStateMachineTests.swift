import Testing

@testable import PenstockStreams

/// Every state against every event. Consumers and producers are names here.
@Suite struct FlatMapStateMachineTests {
    typealias Machine = FlatMapStateMachine<Int, Broken, String, String>

    /// A machine to which these events have happened.
    private func machine(maxConcurrent: Int = 2, after events: (inout Machine) -> Any...) -> Machine {
        var machine = Machine(maxConcurrent: maxConcurrent)
        for event in events { _ = event(&machine) }
        return machine
    }

    // The states, each by the shortest way there.
    private var idle: Machine { machine() }
    private var consumerWaits: Machine { machine(after: { $0.next("consumer") as Any }) }
    private var valuesWait: Machine {
        machine(
            after: { $0.next("consumer") as Any }, { $0.offer() }, { $0.innerWaits(2, "inner b") as Any },
            { $0.innerWaits(3, "inner c") as Any })
    }
    private var nobodyWaits: Machine { machine(after: { $0.next("consumer") as Any }, { $0.offer() }) }
    /// A slot reads upstream, and no other may.
    private var reading: Machine {
        machine(after: { $0.next("consumer") as Any }, { $0.spawnerWaits("spawner") as Any })
    }
    /// As many inner sequences run as may; a slot and the spawner wait.
    private var full: Machine {
        machine(
            maxConcurrent: 1, after: { $0.next("consumer") as Any }, { $0.spawnerWaits("spawner") as Any },
            { $0.elementCame() }, { $0.spawnerWaits("spawner") as Any }, { $0.slotWaits("slot") as Any })
    }
    private var upstreamIsOver: Machine {
        machine(
            after: { $0.next("consumer") as Any }, { $0.takeTurn() as Any }, { $0.upstreamFinished() as Any })
    }
    private var stoppingByFailure: Machine {
        machine(after: { $0.next("consumer") as Any }, { $0.offer() }, { $0.failed(Broken()) as Any })
    }
    private var stoppingAsLetGo: Machine { machine(after: { $0.next("consumer") as Any }, { $0.letGo() as Any }) }
    private var endedUntold: Machine {
        var machine = stoppingByFailure
        _ = machine.tasksEnded()
        return machine
    }
    private var ended: Machine { machine(after: { $0.next("consumer") as Any }, { $0.tasksEnded() as Any }) }
    private var endedBeforeBegun: Machine { machine(after: { $0.letGo() as Any }) }

    // MARK: One event each, in every state

    @Test func take() {
        for state in [idle, consumerWaits, nobodyWaits, full, upstreamIsOver, stoppingByFailure, ended] {
            var machine = state
            #expect(machine.take() == nil)
        }
        var machine = valuesWait
        #expect(machine.take().map { $0 == (2, "inner b") } == true)
    }

    @Test func next() {
        expect(idle, { $0.next("c") }, gives: .start)
        expect(nobodyWaits, { $0.next("c") }, gives: nil)
        expect(valuesWait, { $0.next("c") }, gives: .give(2, to: "c", from: "inner b"))
        expect(stoppingByFailure, { $0.next("c") }, gives: nil)
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

    @Test func takeTurn() {
        for (state, hasTurn) in [
            (idle, false), (consumerWaits, true), (valuesWait, true), (reading, nil), (full, nil),
            (upstreamIsOver, false), (stoppingByFailure, false), (ended, false),
        ] as [(Machine, Bool?)] {
            var machine = state
            #expect(machine.takeTurn() == hasTurn)
        }
    }

    @Test func slotWaits() {
        expect(nobodyWaits, { $0.slotWaits("s") }, gives: .goOn("s", true))
        expect(reading, { $0.slotWaits("s") }, gives: nil)
        expect(upstreamIsOver, { $0.slotWaits("s") }, gives: .goOn("s", false))
        expect(stoppingAsLetGo, { $0.slotWaits("s") }, gives: .goOn("s", false))
    }

    @Test func spawnerWaits() {
        expect(nobodyWaits, { $0.spawnerWaits("s") }, gives: .goOn("s", true))
        expect(reading, { $0.spawnerWaits("s") }, gives: nil)
        expect(upstreamIsOver, { $0.spawnerWaits("s") }, gives: .goOn("s", false))
        expect(stoppingAsLetGo, { $0.spawnerWaits("s") }, gives: .goOn("s", false))
    }

    @Test func elementCame() {
        for (state, begins) in [(reading, true), (stoppingByFailure, false), (stoppingAsLetGo, false)] {
            var machine = state
            let (isBegun, action) = machine.elementCame()
            #expect(isBegun == begins)
            #expect(action == nil)
        }
    }

    @Test func upstreamFinished() {
        expect(reading, { $0.upstreamFinished() }, gives: .rest([]))
        expect(full, { $0.upstreamFinished() }, gives: .rest(["slot", "spawner"]))
        expect(stoppingByFailure, { $0.upstreamFinished() }, gives: nil)
    }

    @Test func offer() {
        for (state, offer) in [
            (consumerWaits, .give(to: "consumer")), (nobodyWaits, .wait), (valuesWait, .wait),
            (stoppingByFailure, .stop), (stoppingAsLetGo, .stop),
        ] as [(Machine, Machine.Offer)] {
            var machine = state
            #expect(machine.offer() == offer)
        }
    }

    @Test func innerWaits() {
        expect(consumerWaits, { $0.innerWaits(7, "i") }, gives: .give(7, to: "consumer", from: "i"))
        expect(nobodyWaits, { $0.innerWaits(7, "i") }, gives: nil)
        expect(valuesWait, { $0.innerWaits(7, "i") }, gives: nil)
        expect(stoppingByFailure, { $0.innerWaits(7, "i") }, gives: .goOn("i", false))
        expect(stoppingAsLetGo, { $0.innerWaits(7, "i") }, gives: .goOn("i", false))
    }

    @Test func innerFinished() {
        expect(nobodyWaits, { $0.innerFinished() }, gives: nil)
        expect(full, { $0.innerFinished() }, gives: .goOn("slot", true))
        expect(upstreamIsOver, { $0.innerFinished() }, gives: nil)
        expect(stoppingByFailure, { $0.innerFinished() }, gives: nil)
    }

    @Test func innerFinishedAndTakesTurn() {
        for (state, hasTurn) in [
            (full, true), (reading, nil), (upstreamIsOver, false), (stoppingByFailure, false),
        ] as [(Machine, Bool?)] {
            var machine = state
            #expect(machine.innerFinishedAndTakesTurn() == hasTurn)
        }
    }

    @Test func failed() {
        expect(consumerWaits, { $0.failed(Broken()) }, gives: .cancel([], []))
        expect(valuesWait, { $0.failed(Broken()) }, gives: .cancel(["inner b", "inner c"], [2, 3]))
        expect(full, { $0.failed(Broken()) }, gives: .cancel(["slot", "spawner"], []))
        expect(stoppingByFailure, { $0.failed(Broken(name: "later")) }, gives: nil)
        expect(stoppingAsLetGo, { $0.failed(Broken()) }, gives: nil)
    }

    @Test func letGo() {
        expect(idle, { $0.letGo() }, gives: nil)
        expect(consumerWaits, { $0.letGo() }, gives: .cancel([], []))
        expect(valuesWait, { $0.letGo() }, gives: .cancel(["inner b", "inner c"], [2, 3]))
        expect(full, { $0.letGo() }, gives: .cancel(["slot", "spawner"], []))
        expect(stoppingByFailure, { $0.letGo() }, gives: nil)
        expect(endedUntold, { $0.letGo() }, gives: nil)
        expect(ended, { $0.letGo() }, gives: nil)
    }

    @Test func tasksEnded() {
        expect(upstreamIsOver, { $0.tasksEnded() }, gives: .end("consumer", nil))
        expect(nobodyWaits, { $0.tasksEnded() }, gives: nil)
        expect(stoppingByFailure, { $0.tasksEnded() }, gives: nil)
        expect(stoppingAsLetGo, { $0.tasksEnded() }, gives: .end("consumer", nil))
        var failed = consumerWaits
        _ = failed.failed(Broken())
        expect(failed, { $0.tasksEnded() }, gives: .end("consumer", Broken()))
    }

    // MARK: What holds over several events

    @Test func slotsAreMadeWhileThereIsRoomAndNoneWaits() {
        var machine = Machine(maxConcurrent: 3)
        _ = machine.next("consumer")
        #expect(machine.spawnerWaits("spawner") == .goOn("spawner", true))
        #expect(machine.spawnerWaits("spawner") == nil)
        #expect(machine.elementCame() == (true, .goOn("spawner", true)))
        #expect(machine.spawnerWaits("spawner") == nil)
        // One slot is free again while another one reads.
        #expect(machine.innerFinishedAndTakesTurn() == nil)
        #expect(machine.slotWaits("slot a") == nil)
        #expect(machine.elementCame() == (true, .goOn("slot a", true)))
        #expect(machine.elementCame() == (true, .goOn("spawner", true)))
        #expect(machine.spawnerWaits("spawner") == nil)
        #expect(machine.elementCame() == (true, nil))
    }

    @Test func theFirstFailureIsToldOnce() {
        var machine = consumerWaits
        _ = machine.failed(Broken())
        #expect(machine.failed(Broken(name: "later")) == nil)
        #expect(machine.tasksEnded() == .end("consumer", Broken()))
        #expect(machine.next("c") == .end("c", nil))
    }

    @Test func aFailureThatNobodyWaitedForIsToldOnce() {
        var machine = endedUntold
        #expect(machine.next("c") == .end("c", Broken()))
        #expect(machine.next("c") == .end("c", nil))
    }
}
