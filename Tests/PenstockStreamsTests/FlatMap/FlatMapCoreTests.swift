import Testing

@testable import PenstockStreams

/// Every state against every event. Inner sequences are names here.
@Suite struct FlatMapCoreTests {
    typealias Core = FlatMapCore<Int, String>

    private func core(after events: (inout Core) -> Void...) -> Core {
        var core = Core(maxConcurrent: 2)
        for event in events { event(&core) }
        return core
    }

    // The states, each by the shortest way there.
    private var open: Core { core() }
    private var full: Core { core(after: { _ = $0.takeAsk() }, { _ = $0.began() }, { _ = $0.began() }) }
    private var asked: Core { core(after: { $0.request(1) }) }
    private var valuesWait: Core {
        core(after: { _ = $0.began() }, { $0.wait(1, of: "a") }, { $0.wait(2, of: "b") })
    }
    private var finishing: Core { core(after: { _ = $0.began() }, { $0.upstreamFinished() }) }
    private var finished: Core { core(after: { $0.upstreamFinished() }) }
    private var over: Core { core(after: { $0.wait(1, of: "a") }, { _ = $0.close() }) }

    // MARK: One event each, in every state

    @Test func takeAsk() {
        for (state, count) in [
            (open, 2), (full, 0), (asked, 2), (valuesWait, 2), (finishing, 0), (finished, 0), (over, 0),
        ] {
            var core = state
            #expect(core.takeAsk() == count)
            #expect(core.takeAsk() == 0)
        }
        var one = open
        #expect(one.takeAsk(1) == 1)
        #expect(one.takeAsk() == 1)
    }

    @Test func began() {
        for (state, begins) in [(open, true), (full, true), (finishing, false), (finished, false), (over, false)] {
            var core = state
            #expect(core.began() == begins)
            #expect(core.isOpen == begins)
        }
    }

    @Test func upstreamFinished() {
        for (state, finishes) in [
            (open, true), (asked, true), (full, false), (valuesWait, false), (finishing, false), (finished, true),
            (over, false),
        ] {
            var core = state
            core.upstreamFinished()
            #expect(core.takeFinish() == finishes)
            #expect(core.takeFinish() == false)
        }
    }

    @Test func mayGive() {
        for (state, isGiven) in [(open, false), (full, false), (asked, true), (valuesWait, false), (finishing, false)] {
            var core = state
            #expect(core.mayGive() == isGiven)
            #expect(core.mayGive() == false)
        }
    }

    @Test func ended() {
        for (state, count) in [(full, 1), (valuesWait, 3), (finishing, 0)] {
            var core = state
            core.ended()
            #expect(core.takeAsk() == count)
        }
        var last = finishing
        last.ended()
        #expect(last.takeFinish() == true)
        #expect(last.isOver)
    }

    @Test func request() {
        for (state, values) in [(open, []), (asked, []), (valuesWait, [1, 2]), (finishing, []), (over, [])] {
            var core = state
            core.request(2)
            var given: [Int] = []
            while let (value, _) = core.next() { given.append(value) }
            #expect(given == values)
        }
    }

    @Test func next() {
        for state in [open, asked, valuesWait, finishing, over] {
            var core = state
            #expect(core.next() == nil)
        }
    }

    @Test func close() {
        for (state, values) in [(open, []), (full, []), (valuesWait, [1, 2]), (finishing, []), (over, [])] {
            var core = state
            #expect(core.close().map(\.value) == values)
            #expect(core.isOver)
            core.request(5)
            #expect(core.next() == nil)
            #expect(core.takeFinish() == false)
        }
    }

    // MARK: What holds over several events

    @Test func oneMoreIsAskedForWhenOneEnded() {
        var core = full
        core.ended()
        #expect(core.takeAsk() == 1)
        core.ended()
        core.ended()
        #expect(core.takeAsk() == 2)
    }

    @Test func whoMayHaveAnyNumberIsAskedForAllAtOnce() {
        var core = Core(maxConcurrent: .max)
        #expect(core.takeAsk() == .max)
        _ = core.began()
        core.ended()
        #expect(core.takeAsk() == 0)
    }

    @Test func valuesComeOutAsTheyCameAndOneForEachThatWasAskedFor() {
        var core = valuesWait
        core.request(1)
        #expect(core.next().map { $0 == (1, "a") } == true)
        #expect(core.next() == nil)
        core.wait(3, of: "a")
        core.request(.max)
        #expect(core.next().map { $0 == (2, "b") } == true)
        #expect(core.next().map { $0 == (3, "a") } == true)
        // All that comes was asked for.
        for _ in 1...3 { #expect(core.mayGive() == true) }
    }
}
