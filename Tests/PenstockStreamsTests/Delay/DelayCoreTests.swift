import Testing

@testable import PenstockStreams

/// Every state against every event. Moments are numbers.
@Suite struct DelayCoreTests {
    typealias Core = DelayCore<Int, Int>

    private func core(after events: (inout Core) -> Void...) -> Core {
        var core = Core()
        for event in events { event(&core) }
        return core
    }

    /// What is due, in its order.
    private func due(_ core: inout Core) -> [Core.Step] {
        var steps: [Core.Step] = []
        while let step = core.next() { steps.append(step) }
        return steps
    }

    // The states, each by the shortest way there.
    private var empty: Core { core() }
    private var holding: Core { core(after: { $0.arrived(1, due: 10) }, { $0.arrived(2, due: 20) }) }
    private var awaited: Core { core(after: { $0.arrived(1, due: 10) }, { _ = $0.takeMoment() }) }
    private var isDue: Core { core(after: { $0.arrived(1, due: 10) }, { $0.came(10) }) }
    private var finished: Core { core(after: { $0.finished(due: 30) }) }
    private var finishing: Core { core(after: { $0.arrived(1, due: 10) }, { $0.finished(due: 30) }, { $0.came(30) }) }
    private var closed: Core {
        var core = holding
        _ = core.close()
        return core
    }

    // MARK: One event each, in every state

    @Test func takeMoment() {
        for (state, moment) in [
            (empty, nil), (holding, 10), (awaited, nil), (isDue, nil), (finished, 30), (finishing, nil), (closed, nil),
        ] as [(Core, Int?)] {
            var core = state
            #expect(core.takeMoment() == moment)
            #expect(core.takeMoment() == nil)
        }
    }

    @Test func came() {
        for (state, steps) in [
            (empty, []), (holding, [.give(1), .give(2)]), (awaited, [.give(1)]), (isDue, [.give(1)]),
            (finished, [.finish]), (finishing, [.give(1), .finish]), (closed, []),
        ] as [(Core, [Core.Step])] {
            var core = state
            core.came(30)
            #expect(due(&core) == steps)
            #expect(core.next() == nil)
        }
    }

    @Test func arrived() {
        for (state, isTaken) in [
            (empty, true), (holding, true), (awaited, true), (isDue, true), (finished, false), (finishing, false),
            (closed, false),
        ] as [(Core, Bool)] {
            var core = state
            core.arrived(7, due: 70)
            core.came(70)
            #expect(due(&core).contains(.give(7)) == isTaken)
        }
    }

    @Test func upstreamFinished() {
        for (state, steps) in [
            (empty, [.finish]), (holding, [.give(1), .give(2), .finish]), (awaited, [.give(1), .finish]),
            (isDue, [.give(1), .finish]), (finished, [.finish]), (finishing, [.give(1), .finish]), (closed, []),
        ] as [(Core, [Core.Step])] {
            var core = state
            core.finished(due: 70)
            #expect(!core.isTimeless || core.takeMoment() == nil)
            core.came(70)
            #expect(due(&core) == steps)
            #expect(core.isTimeless)
        }
    }

    @Test func close() {
        for (state, held) in [
            (empty, []), (holding, [1, 2]), (awaited, [1]), (isDue, [1]), (finished, []), (finishing, [1]),
            (closed, []),
        ] as [(Core, [Int])] {
            var core = state
            #expect(core.close() == held)
            core.came(100)
            #expect(due(&core) == [])
            #expect(core.isTimeless)
        }
    }

    // MARK: What holds over several events

    @Test func onlyWhatIsDueComesOut() {
        var core = holding
        core.finished(due: 30)
        #expect(core.takeMoment() == 10)
        core.came(19)
        #expect(due(&core) == [.give(1)])
        #expect(core.takeMoment() == 20)
        core.came(20)
        #expect(core.takeMoment() == 30)
        core.came(30)
        #expect(due(&core) == [.give(2), .finish])
    }

    @Test func theOrderStaysThoughTheClockWasSetBack() {
        var core = core(after: { $0.arrived(1, due: 20) }, { $0.arrived(2, due: 10) }, { $0.finished(due: 15) })
        core.came(19)
        #expect(due(&core) == [])
        #expect(core.takeMoment() == 20)
        core.came(20)
        #expect(due(&core) == [.give(1), .give(2), .finish])
    }

    @Test func aFaceThatIsWokenEarlyHasWaitedForItsMomentAndForNoLaterOne() {
        var core = holding
        #expect(core.takeMoment() == 10)
        core.came(9)
        #expect(due(&core) == [.give(1)])
        #expect(core.takeMoment() == 20)
    }
}
