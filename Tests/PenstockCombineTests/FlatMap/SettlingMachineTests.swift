import PenstockCombine
import Testing

@testable import PenstockPublishers

/// Every state against every event.
@Suite struct SettlingMachineTests {
    struct Broken: Error {}

    typealias Machine = SettlingMachine<Int>

    private var idle: Machine {
        var machine = Machine(maxConcurrent: 1)
        _ = machine.askUpstream()
        return machine
    }
    /// A machine with one work, and so much demand.
    private func working(demand: Int = 0) -> Machine {
        var machine = idle
        if demand > 0 { _ = machine.request(demand) }
        _ = machine.arrived()
        return machine
    }
    private var valueWaits: Machine {
        var machine = working()
        _ = machine.workGave(1, 1)
        return machine
    }
    private var endedValueWaits: Machine {
        var machine = valueWaits
        _ = machine.workEnded(.finished, 1)
        return machine
    }
    private var settling: Machine {
        var machine = working()
        _ = machine.workEnded(.finished, 1)
        return machine
    }
    private var over: Machine {
        var machine = working()
        _ = machine.cancelled()
        return machine
    }

    private func names(_ things: [Any]) -> [String] {
        things.map { "\($0)".replacingOccurrencesOfModules }
    }

    @Test func askUpstream() {
        var machine = Machine(maxConcurrent: 3)
        #expect(names(machine.askUpstream()) == ["askUpstream(3)"])
        #expect(names(machine.askUpstream()) == [])
    }

    @Test func request() {
        var idle = working()
        #expect(names(idle.request(1)) == [])
        var waits = valueWaits
        #expect(names(waits.request(1)) == ["give(1, 1)"])
        #expect(names(waits.request(1)) == [])
        var gone = over
        #expect(gone.request(1).isEmpty)
    }

    @Test func said() {
        var waits = valueWaits
        _ = waits.request(1)
        #expect(names(waits.said(1).actions) == ["askWork(1)"])
        var ended = endedValueWaits
        _ = ended.request(1)
        #expect(names(ended.said(1).actions) == ["settle(1, finished)"])
        var gone = over
        #expect(gone.said(1).actions.isEmpty)
    }

    @Test func workGave() {
        var asked = working(demand: 1)
        #expect(names(asked.workGave(7, 1)) == ["give(7, 1)"])
        #expect(asked.workGave(8, 1).isEmpty)
        #expect(names(asked.request(1)) == ["give(8, 1)"])
        var gone = over
        #expect(gone.workGave(7, 1).isEmpty)
    }

    /// It was asked for, but another thread speaks to the subscriber.
    @Test func aWorkEndsBeforeItsLastValueIsSaid() {
        var machine = working(demand: 1)
        _ = machine.workGave(7, 1)
        #expect(names(machine.workEnded(.finished, 1).actions) == [])
        #expect(machine.ended(.finished).steps.isEmpty)
        var cancelled = machine
        #expect(names(cancelled.cancelled()) == ["letGo([])", "cancelUpstream", "giveUp(1)"])
        #expect(names(machine.said(1).actions) == ["settle(1, finished)"])
        #expect(names(machine.settled(1).steps) == ["end(finished)"])
    }

    @Test func workEnded() {
        var idle = working()
        #expect(names(idle.workEnded(.finished, 1).actions) == ["settle(1, finished)"])
        #expect(names(idle.workEnded(.finished, 1).actions) == [])
        var fails = working()
        #expect(names(fails.workEnded(.failed(Broken()), 1).actions) == ["settle(1, failed(Broken()))"])
        var lost = working()
        #expect(names(lost.workEnded(.leaseLost, 1).actions) == ["giveUp(1)", "askUpstream(1)"])
        var last = working()
        #expect(names(last.ended(.finished).steps) == [])
        #expect(names(last.workEnded(.leaseLost, 1).steps) == ["end(finished)"], "Nothing is left to settle.")
        // The last value is to be taken first.
        var waits = valueWaits
        #expect(names(waits.workEnded(.finished, 1).actions) == [])
        var gone = over
        #expect(names(gone.workEnded(.finished, 1).actions) == [])
    }

    /// Nobody settles it then, and nobody says that it is settled.
    @Test func aLeaseEndsWhileTheLastValueOfAnEndedWorkWaits() {
        var waits = endedValueWaits
        #expect(names(waits.workEnded(.cancelled, 1).actions) == ["giveUp(1)"])
        #expect(names(waits.workEnded(.finished, 1).actions) == [])
        #expect(names(waits.settled(1).actions) == [])
        #expect(names(waits.request(1)) == ["give(1, 1)"])
        #expect(names(waits.said(1).actions) == ["askUpstream(1)"])
        var last = endedValueWaits
        _ = last.workEnded(.leaseLost, 1)
        _ = last.ended(.finished)
        #expect(names(last.request(1)) == ["give(1, 1)"])
        #expect(names(last.said(1).steps) == ["end(finished)"])
    }

    @Test func settled() {
        var open = settling
        let settled = open.settled(1)
        #expect(settled.steps.isEmpty)
        #expect(names(settled.actions) == ["askUpstream(1)"])
        var finishing = settling
        #expect(finishing.ended(.finished).steps.isEmpty)
        let last = finishing.settled(1)
        #expect(last.steps.count == 1)
        #expect(last.actions.isEmpty)
        #expect(finishing.settled(1).steps.isEmpty)
    }

    @Test func ended() {
        var idle = idle
        #expect(idle.ended(.finished).steps.count == 1)
        #expect(idle.arrived() == nil)
        var busy = working()
        #expect(busy.ended(.finished).steps.isEmpty)
        #expect(names(busy.workEnded(.finished, 1).actions) == ["settle(1, finished)"])
        #expect(busy.settled(1).steps.count == 1)
        var fails = working()
        let failed = fails.ended(.failure(Broken()))
        #expect(failed.steps.count == 1)
        #expect(names(failed.actions) == ["letGo([])", "cancelUpstream", "giveUp(1)"])
        #expect(fails.ended(.failure(Broken())).steps.isEmpty)
    }

    @Test func cancelled() {
        var waits = valueWaits
        #expect(names(waits.cancelled()) == ["letGo([1])", "cancelUpstream", "giveUp(1)"])
        #expect(waits.cancelled().isEmpty)
        #expect(waits.arrived() == nil)
    }
}

extension String {
    /// The text of a value without the names of the types around its cases.
    fileprivate var replacingOccurrencesOfModules: String {
        var text = ""
        var word = ""
        for character in self {
            switch character {
            case ".": word = ""
            case "(", ")", ",", " ":
                text += word + String(character)
                word = ""
            default: word.append(character)
            }
        }
        return text + word
    }
}
