import Testing

@testable import PenstockStreams

/// Every state against every event.
@Suite struct BufferCoreTests {
    typealias Core = BufferCore<Int, Broken>

    private func core(
        size: Int = 2, _ prefetch: BufferPrefetch = .keepFull, _ whenFull: Core.WhenFull = .dropNewest,
        after events: (inout Core) -> Any?...
    ) -> Core {
        var core = Core(size: size, prefetch: prefetch, whenFull: whenFull)
        for event in events {
            _ = event(&core)
            while core.next() != nil {}
            _ = core.takeAsk()
        }
        return core
    }

    // The states, each by the shortest way there.
    private var new: Core { core() }
    private var hungry: Core { core(after: { $0.request(3) }) }
    private var busy: Core { core(after: { $0.request(1) }, { $0.arrived(1) }) }
    private func full(
        _ prefetch: BufferPrefetch = .keepFull, _ whenFull: Core.WhenFull = .dropNewest
    ) -> Core {
        core(prefetch, whenFull, after: { $0.request(1) }, { $0.arrived(1) }, { $0.arrived(2) }, { $0.arrived(3) })
    }
    private var paused: Core {
        var core = full()
        core.arrived(4)
        _ = core.next()
        return core
    }
    private var finishing: Core {
        var core = full()
        _ = core.ended(.finished)
        return core
    }
    private var over: Core { core(after: { $0.request(1) }, { $0.ended(.finished) }) }

    private func expect(
        _ core: Core, _ event: (inout Core) -> Any?, says steps: [Core.Step], asks: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var core = core
        _ = event(&core)
        #expect(Array(sequence(state: ()) { _ in core.next() }) == steps, sourceLocation: sourceLocation)
        #expect(core.takeAsk() == asks, sourceLocation: sourceLocation)
        #expect(core.takeAsk() == 0, sourceLocation: sourceLocation)
    }

    @Test func request() {
        expect(new, { $0.request(1) }, says: [], asks: 4)
        expect(new, { $0.request(.max) }, says: [], asks: .max)
        expect(core(.byRequest), { $0.request(1) }, says: [], asks: .max)
        expect(hungry, { $0.request(2) }, says: [], asks: 2)
        expect(busy, { $0.request(1) }, says: [], asks: 1)
        expect(full(), { $0.request(1) }, says: [.give(2)], asks: 1)
        expect(full(.byRequest), { $0.request(1) }, says: [.give(2)], asks: 0)
        expect(paused, { $0.request(1) }, says: [.give(2)], asks: 2)
        expect(paused, { $0.request(3) }, says: [.give(2), .give(3)], asks: 4)
        expect(finishing, { $0.request(1) }, says: [.give(2)], asks: 0)
        expect(finishing, { $0.request(2) }, says: [.give(2), .give(3), .end(.finished)], asks: 0)
        expect(over, { $0.request(1) }, says: [], asks: 0)
    }

    @Test func arrived() {
        expect(hungry, { $0.arrived(7) }, says: [.give(7)], asks: 0)
        expect(busy, { $0.arrived(7) }, says: [], asks: 0)
        expect(full(), { $0.arrived(7) }, says: [.discard(7)], asks: 0)
        expect(full(.keepFull, .dropOldest), { $0.arrived(7) }, says: [.discard(2)], asks: 0)
        expect(full(.keepFull, .fail), { $0.arrived(7) }, says: [.overflow(7)], asks: 0)
        expect(paused, { $0.arrived(7) }, says: [.discard(7)], asks: 0)
        expect(finishing, { $0.arrived(7) }, says: [], asks: 0)
        expect(over, { $0.arrived(7) }, says: [], asks: 0)
    }

    @Test func arrivedWhereNothingMayWait() {
        let none = core(size: 0, after: { $0.request(1) }, { $0.arrived(1) })
        expect(none, { $0.arrived(2) }, says: [.discard(2)], asks: 0)
        let oldest = core(size: 0, .byRequest, .dropOldest, after: { $0.request(1) }, { $0.arrived(1) })
        expect(oldest, { $0.arrived(2) }, says: [.discard(2)], asks: 0)
        expect(oldest, { $0.request(1) }, says: [], asks: 0)
    }

    @Test func ended() {
        expect(new, { $0.ended(.finished) }, says: [.end(.finished)], asks: 0)
        expect(hungry, { $0.ended(.finished) }, says: [.end(.finished)], asks: 0)
        expect(full(), { $0.ended(.finished) }, says: [], asks: 0)
        expect(full(), { $0.ended(.failed(Broken())) }, says: [.end(.failed(Broken()))], asks: 0)
        expect(finishing, { $0.ended(.failed(Broken())) }, says: [], asks: 0)
        expect(over, { $0.ended(.failed(Broken())) }, says: [], asks: 0)
    }

    @Test func cancelled() {
        for (state, forgotten) in [
            (new, []), (hungry, []), (busy, []), (full(), [2, 3]), (paused, [2, 3]), (finishing, [2, 3]), (over, []),
        ] as [(Core, [Int])] {
            var core = state
            #expect(core.cancelled() == forgotten)
            #expect(core.next() == nil)
            expect(core, { $0.request(1) }, says: [], asks: 0)
            expect(core, { $0.arrived(7) }, says: [], asks: 0)
            expect(core, { $0.ended(.finished) }, says: [], asks: 0)
        }
    }

    // MARK: What is promised

    @Test func whatIsPromisedDoesNotCountForTheSize() {
        var core = core(size: 1, after: { $0.request(2) })
        for value in 1...4 { core.arrived(value) }
        // 1 and 2 are promised and nobody has said them, 3 waits, 4 found no place.
        #expect(core.next(giving: false) == .discard(4))
        #expect(core.hasPromised)
        #expect(core.next() == .give(1))
        #expect(core.next() == .give(2))
        #expect(core.next() == nil)
        #expect(core.hasWaiting)
    }

    @Test func theOldestThatWaitsIsDroppedAndNothingThatIsPromised() {
        var core = core(size: 1, .byRequest, .dropOldest, after: { $0.request(2) })
        for value in 1...4 { core.arrived(value) }
        #expect(core.next() == .discard(3))
        core.request(1)
        #expect(Array(sequence(state: ()) { _ in core.next() }) == [.give(1), .give(2), .give(4)])
    }

    @Test func whatIsPromisedComesBeforeTheEnd() {
        for end in [Completion<Broken>.finished, .failed(Broken())] {
            var core = core(after: { $0.request(2) })
            for value in 1...3 { core.arrived(value) }
            #expect(core.ended(end) == (end == .finished ? [] : [3]))
            core.request(1)
            let values: [Core.Step] = end == .finished ? [.give(1), .give(2), .give(3)] : [.give(1), .give(2)]
            #expect(Array(sequence(state: ()) { _ in core.next() }) == values + [.end(end)])
        }
    }

    @Test func whatWaitsIsLetGoWhenTheOverflowFails() {
        var core = full(.keepFull, .fail)
        core.arrived(4)
        #expect(core.next() == .overflow(4))
        #expect(core.ended(.failed(Broken())) == [2, 3])
        core.request(1)
        #expect(core.next() == nil)
    }

    @Test func aDemandWithoutLimitStaysOne() {
        var core = core(size: .max, .keepFull, after: { $0.request(.max) })
        for value in 1...3 { core.arrived(value) }
        core.request(.max)
        #expect(core.takeAsk() == 0)
        #expect(core.demand == .max)
    }
}
