import PenstockCore
import PenstockStreams
import PenstockTestKit
import Testing

@testable import Penstock

/// Every state against every input, and what each rule says of a whole stream.
@Suite struct DurableBufferStateMachineTests {
    typealias Machine = DurableBufferStateMachine<Int, String>

    enum State: String, CaseIterable {
        case idle, opening, wanting, holding, full, finishing, failing, cancelled
    }

    enum Input: String, CaseIterable {
        case request, cancel, pull, arrive, finish, fail, open, unopened, count, look, storageFails
    }

    private struct Broken: Error {}

    private static func machine(in state: State) -> Machine {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .dropNewest))
        if state == .idle { return machine }
        _ = machine.request(1)
        if state == .opening { return machine }
        _ = machine.opened(waiting: 0, isPaused: false)
        if state == .wanting { return machine }
        for value in 1...(state == .holding ? 2 : 3) { _ = machine.arrived(value, bytes: 1) }
        switch state {
        case .finishing: _ = machine.upstreamFinished()
        case .failing: _ = machine.failed(Broken())
        case .cancelled: _ = machine.cancel()
        default: break
        }
        return machine
    }

    private static func apply(_ input: Input, to machine: inout Machine) -> [Machine.Action] {
        switch input {
        case .request: machine.request(1)
        case .cancel: machine.cancel()
        case .pull: machine.pullerAsks("p")
        case .arrive: machine.arrived(9, bytes: 1)
        case .finish: machine.upstreamFinished()
        case .fail: machine.failed(Broken())
        case .open: machine.opened(waiting: 1, isPaused: false)
        case .unopened: machine.unopened()
        case .count: machine.counted(1)
        case .look: machine.looksAgain()
        case .storageFails: machine.storageFailed(Broken())
        }
    }

    private static let table: [State: [Input: String]] = [
        .idle: [
            .request: "opening: wake", .cancel: "cancelled: cancelUpstream wake", .pull: "idle:", .arrive: "idle:",
            .finish: "idle:", .fail: "idle:", .open: "idle:", .unopened: "idle:", .count: "idle:", .look: "idle:",
            .storageFails: "failing: cancelUpstream",
        ],
        .opening: [
            .request: "opening:", .cancel: "cancelled: cancelUpstream wake", .pull: "opening:", .arrive: "opening:",
            .finish: "opening:", .fail: "failing: cancelUpstream wake",
            // One waits, and is claimed for the one that was asked for: then there is room for two, and one more.
            .open: "running: ask 3", .unopened: "opening:", .count: "opening:", .look: "opening:",
            .storageFails: "failing: cancelUpstream",
        ],
        .wanting: [
            .request: "running: ask 1 wake", .cancel: "cancelled: cancelUpstream wake", .pull: "running: goOn",
            .arrive: "running: wake", .finish: "finishing: wake", .fail: "failing: cancelUpstream wake",
            .open: "running:", .unopened: "running: ask 1", .count: "running:", .look: "running:",
            .storageFails: "failing: cancelUpstream",
        ],
        .holding: [
            .request: "running: ask 1 wake", .cancel: "cancelled: cancelUpstream wake", .pull: "running: goOn",
            .arrive: "running: wake", .finish: "finishing: wake", .fail: "failing: cancelUpstream wake",
            .open: "running:", .unopened: "running: ask 1", .count: "running:", .look: "running:",
            .storageFails: "failing: cancelUpstream lost 2",
        ],
        .full: [
            .request: "running: ask 1 wake", .cancel: "cancelled: cancelUpstream wake", .pull: "running: goOn",
            .arrive: "running: wake", .finish: "finishing: wake", .fail: "failing: cancelUpstream wake",
            .open: "running:", .unopened: "running: ask 1", .count: "running:", .look: "running:",
            .storageFails: "failing: cancelUpstream lost 3",
        ],
        .finishing: [
            .request: "finishing: wake", .cancel: "cancelled: cancelUpstream wake", .pull: "finishing: stop",
            .arrive: "finishing:", .finish: "finishing:", .fail: "finishing:", .open: "finishing:",
            .unopened: "finishing:", .count: "finishing:", .look: "finishing:",
            .storageFails: "failing: cancelUpstream lost 3",
        ],
        .failing: [
            .request: "failing:", .cancel: "cancelled: cancelUpstream wake", .pull: "failing: stop",
            .arrive: "failing:", .finish: "failing:", .fail: "failing:", .open: "failing:", .unopened: "failing:",
            .count: "failing:", .look: "failing:", .storageFails: "failing: cancelUpstream lost 3",
        ],
        .cancelled: [
            .request: "cancelled:", .cancel: "cancelled:", .pull: "cancelled: stop", .arrive: "cancelled:",
            .finish: "cancelled:", .fail: "cancelled:", .open: "cancelled:", .unopened: "cancelled:",
            .count: "cancelled:", .look: "cancelled:", .storageFails: "cancelled: cancelUpstream lost 3",
        ],
    ]

    @Test(arguments: State.allCases, Input.allCases)
    func everyStateKnowsEveryInput(state: State, input: Input) throws {
        var machine = Self.machine(in: state)
        let isWanted = machine.isWanted
        let actions = Self.apply(input, to: &machine)
        if input == .pull { #expect(actions.map(\.text).contains("goOn") == isWanted) }
        let found = (["\(machine.phase):"] + actions.map(\.text)).joined(separator: " ")
        #expect(found == (try #require(Self.table[state]?[input])))
    }

    @Test(arguments: State.allCases)
    func theNextStepOfEveryState(state: State) throws {
        var machine = Self.machine(in: state)
        let steps: [State: String] = [
            .idle: "rest", .opening: "open", .wanting: "claim 1", .holding: "enqueue [1], claim 1, enqueue [2]",
            .full: "enqueue [1], claim 1, enqueue [2, 3]", .finishing: "enqueue [1], claim 1, enqueue [2, 3]",
            .failing: "enqueue [1], claim 1, enqueue [2, 3]", .cancelled: "enqueue [1], claim 1, enqueue [2, 3]",
        ]
        #expect(machine.nextStep().step.text == steps[state])
    }

    @Test func asksUpstreamOnlyAfterTheFirstDemandAndTheCount() {
        var machine = Machine(.init(size: 4, prefetch: .byRequest, whenFull: .dropNewest))
        #expect(machine.pullerAsks("p").isEmpty)
        #expect(machine.request(1).map(\.text) == ["wake"])
        #expect(machine.nextStep().step.text == "open")
        #expect(machine.opened(waiting: 9, isPaused: false).map(\.text) == ["ask max", "goOn"])
    }

    @Test func aStreamThatHadPausedStaysPausedUntilAPlaceIsFree() {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(1)
        // Two wait, and one that was handed out before comes first.
        #expect(machine.opened(waiting: 3, isPaused: true).isEmpty)
        #expect(machine.request(1).map(\.text) == ["ask 2", "wake"])
    }

    @Test func nothingIsPulledWhileAsMuchIsStagedAsMayBe() {
        var machine = Machine(.init(size: 4, prefetch: .byRequest, whenFull: .dropNewest))
        _ = machine.request(1)
        _ = machine.opened(waiting: 0, isPaused: false)
        for value in 1..<Limits.stagedCountMax { _ = machine.arrived(value, bytes: 1) }
        #expect(machine.pullerAsks("p").map(\.text) == ["goOn"])
        _ = machine.arrived(0, bytes: 1)
        #expect(machine.pullerAsks("p").isEmpty)
        let (step, actions) = machine.nextStep()
        let rest = Array(2..<Limits.stagedCountMax) + [0]
        #expect(step.text == "enqueue [1], claim 1, enqueue \(rest)")
        #expect(actions.map(\.text) == ["goOn"])
    }

    /// Threads of a source that does not take turns, each with a value that it gave.
    @Test func everyThreadThatWaitsAtTheStagingBoundGoesOn() {
        func full() -> Machine {
            var machine = Machine(.init(size: 4, prefetch: .byRequest, whenFull: .dropNewest))
            _ = machine.request(1)
            _ = machine.opened(waiting: 0, isPaused: false)
            for value in 0..<Limits.stagedCountMax { _ = machine.arrived(value, bytes: 1) }
            #expect(machine.stagerAsks("a").isEmpty)
            #expect(machine.stagerAsks("b").isEmpty)
            return machine
        }
        var machine = full()
        #expect(machine.nextStep().actions.map(\.text) == ["goOn", "goOn"])
        #expect(machine.stagerAsks("a").map(\.text) == ["goOn"], "There is room.")
        machine = full()
        #expect(machine.upstreamFinished().map(\.text) == ["wake", "goOn", "goOn"])
        machine = full()
        #expect(machine.cancel().map(\.text) == ["cancelUpstream", "stop", "stop", "wake"])
        #expect(machine.stagerAsks("a").map(\.text) == ["goOn"], "Nothing is staged any more.")
    }

    @Test func withWaitUpstreamIsAskedForWhatThereIsRoomFor() {
        var machine = Machine(.init(size: 2, prefetch: .byRequest, whenFull: .wait))
        _ = machine.request(3)
        #expect(machine.opened(waiting: 0, isPaused: false).map(\.text) == ["ask 5"])
    }

    @Test func whatFindsNoRoomBecauseOfOthersWaitsAndIsOfferedAgain() {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .wait))
        _ = machine.request(1)
        _ = machine.opened(waiting: 0, isPaused: false)
        _ = machine.arrived(1, bytes: 1)
        _ = machine.arrived(2, bytes: 1)
        #expect(machine.nextStep().step.text == "enqueue [1], claim 1, enqueue [2]")
        // Somebody else's messages fill the queue.
        _ = machine.enqueued(accepted: 0, net: 0)
        #expect(machine.nextStep().step.text == "claim 1")
        _ = machine.claimed(1, isShort: false)
        #expect(machine.nextStep().step.text == "enqueue [1, 2]")
        _ = machine.enqueued(accepted: 1, net: 1)
        #expect(machine.nextStep().step.text == "watch")
        _ = machine.looksAgain()
        #expect(machine.nextStep().step.text == "enqueue [2]")
    }

    @Test func whatOthersStoredTakesTheDemandOfWhatArrivesMeanwhile() {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(1)
        _ = machine.opened(waiting: 0, isPaused: false)
        #expect(machine.nextStep().step.text == "claim 1")
        _ = machine.arrived(1, bytes: 1)
        _ = machine.claimed(1, isShort: false)
        #expect(machine.waiting == 1)
        #expect(machine.nextStep().step.text == "enqueue [1]")
        _ = machine.enqueued(accepted: 1, net: 1)
        #expect(machine.nextStep().step.text == "rest")
    }

    @Test func aClaimThatFindsLessThanThoughtGivesTheDemandBack() {
        var machine = Machine(.init(size: 4, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(3)
        _ = machine.opened(waiting: 3, isPaused: false)
        #expect(machine.nextStep().step.text == "claim 3")
        _ = machine.claimed(1, isShort: true)
        #expect(machine.demand == 2)
        #expect(machine.nextStep().step.text == "recount")
        #expect(machine.recounted(0).map(\.text) == ["ask 2"])
        #expect(machine.nextStep().step.text == "watch")
    }

    /// As those do that are put off, and all of a queue that is paused.
    @Test func whatWaitsAndCannotBeClaimedKeepsItsPlaces() {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(4)
        #expect(machine.opened(waiting: 2, isPaused: false).map(\.text) == ["ask 5"])
        #expect(machine.nextStep().step.text == "claim 4")
        _ = machine.claimed(0, isShort: true)
        #expect(machine.nextStep().step.text == "recount")
        _ = machine.recounted(2)
        #expect(machine.nextStep().step.text == "watch")
        // Nothing finds a place, not even on its way to the one that asked for it. Upstream owes four more, and is not asked for others.
        for value in 1...5 { #expect(machine.arrived(value, bytes: 1).map(\.text) == ["wake"]) }
        #expect(machine.nextStep().step.text == "enqueue [1, 2, 3, 4, 5]")
        #expect(machine.enqueued(accepted: 5, net: 0).isEmpty)
        #expect(machine.nextStep().step.text == "watch")
        // One comes to its time: its place is free, and three are still asked for.
        _ = machine.looksAgain()
        #expect(machine.nextStep().step.text == "claim 4")
        #expect(machine.claimed(1, isShort: true).map(\.text) == ["ask 5"])
    }

    /// A count is a look at the store, and every value that passes has a claim that finds less than it could take.
    @Test func whatIsPutOffIsCountedOnce() {
        var machine = Machine(.init(size: 4, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(100)
        _ = machine.opened(waiting: 1, isPaused: false)
        _ = machine.nextStep()
        _ = machine.claimed(0, isShort: true)
        #expect(machine.nextStep().step.text == "recount")
        _ = machine.recounted(1)
        for value in 1...3 {
            #expect(machine.nextStep().step.text == "watch")
            _ = machine.arrived(value, bytes: 1)
            #expect(machine.nextStep().step.text.hasPrefix("enqueue [\(value)]"))
            _ = machine.enqueued(accepted: 1, net: 1)
            _ = machine.claimed(1, isShort: true)
        }
        // Others may have taken it.
        _ = machine.looksAgain()
        #expect(machine.nextStep().step.text.hasPrefix("claim"))
        _ = machine.claimed(0, isShort: true)
        #expect(machine.nextStep().step.text == "recount")
    }

    /// A store ends a claim early when the payloads are many bytes.
    @Test func aClaimThatStopsShortLeavesTheRestWaiting() {
        var machine = Machine(.init(size: 4, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(4)
        #expect(machine.opened(waiting: 4, isPaused: false).map(\.text) == ["ask 5"])
        #expect(machine.nextStep().step.text == "claim 4")
        #expect(machine.claimed(1, isShort: false).isEmpty, "Upstream owes as many as there is room for.")
        #expect(machine.demand == 0)
        #expect(machine.nextStep().step.text == "claim 3")
        _ = machine.claimed(3, isShort: false)
        #expect(machine.waiting == 0)
        #expect(machine.owed == 5)
    }

    @Test func theFinishWaitsUntilNothingOfTheQueueIsLeft() {
        var machine = Machine(.init(size: 2, prefetch: .keepFull, whenFull: .dropNewest))
        _ = machine.request(1)
        _ = machine.opened(waiting: 0, isPaused: false)
        _ = machine.upstreamFinished()
        #expect(machine.nextStep().step.text == "claim 1")
        _ = machine.claimed(0, isShort: true)
        #expect(machine.nextStep().step.text == "count")
        _ = machine.counted(1)
        #expect(machine.nextStep().step.text == "watch")
        _ = machine.looksAgain()
        #expect(machine.nextStep().step.text == "claim 1")
        _ = machine.claimed(0, isShort: true)
        #expect(machine.nextStep().step.text == "count")
        _ = machine.counted(0)
        #expect(machine.nextStep().step.text == "end")
    }
}
