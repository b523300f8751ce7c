import PenstockCombine
import Synchronization

/// A moment of virtual time, in milliseconds.
struct VirtualMoment: Strideable, Hashable, Sendable, CustomStringConvertible {
    struct Stride: SignedNumeric, Comparable, Hashable, Sendable, SchedulerTimeIntervalConvertible {
        var magnitude: Int

        init(milliseconds: Int) { magnitude = milliseconds }
        init(integerLiteral value: Int) { magnitude = value * 1000 }
        init?(exactly source: some BinaryInteger) {
            guard let source = Int(exactly: source) else { return nil }
            magnitude = source
        }

        static func seconds(_ seconds: Int) -> Self { .init(milliseconds: seconds * 1000) }
        static func seconds(_ seconds: Double) -> Self { .init(milliseconds: Int((seconds * 1000).rounded())) }
        static func milliseconds(_ milliseconds: Int) -> Self { .init(milliseconds: milliseconds) }
        static func microseconds(_ microseconds: Int) -> Self { .init(milliseconds: microseconds / 1000) }
        static func nanoseconds(_ nanoseconds: Int) -> Self { .init(milliseconds: nanoseconds / 1_000_000) }

        static func < (left: Self, right: Self) -> Bool { left.magnitude < right.magnitude }
        static func + (left: Self, right: Self) -> Self { .init(milliseconds: left.magnitude + right.magnitude) }
        static func - (left: Self, right: Self) -> Self { .init(milliseconds: left.magnitude - right.magnitude) }
        static func * (left: Self, right: Self) -> Self { .init(milliseconds: left.magnitude * right.magnitude) }
        static func *= (left: inout Self, right: Self) { left = left * right }
    }

    var milliseconds: Int

    func distance(to other: Self) -> Stride { .init(milliseconds: other.milliseconds - milliseconds) }
    func advanced(by stride: Stride) -> Self { .init(milliseconds: milliseconds + stride.magnitude) }

    var description: String { "\(milliseconds) ms" }
}

/// A scheduler whose time only moves when a test moves it: nothing waits.
///
/// Actions are performed on the thread that moves the time, by their moment, and those of one moment in the order in
/// which they were scheduled. Scheduling is allowed from any thread.
final class VirtualScheduler: Scheduler, Sendable {
    typealias SchedulerTimeType = VirtualMoment
    typealias SchedulerOptions = Never

    /// An action is performed on the one thread that moves the time, whoever scheduled it.
    private struct Action: @unchecked Sendable {
        let perform: () -> Void
    }

    private struct State {
        var now = VirtualMoment(milliseconds: 0)
        var actions: [(at: VirtualMoment, id: Int, action: Action)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    var now: VirtualMoment { state.withLock { $0.now } }
    var minimumTolerance: VirtualMoment.Stride { .milliseconds(0) }

    /// How many actions are to be performed.
    var actionCount: Int { state.withLock { $0.actions.count } }

    /// The moment of the next action.
    var nextMoment: VirtualMoment? { state.withLock { $0.actions.map(\.at).min() } }

    func schedule(options: Never?, _ action: @escaping () -> Void) {
        add(at: now, action)
    }

    func schedule(
        after date: VirtualMoment, tolerance: VirtualMoment.Stride, options: Never?, _ action: @escaping () -> Void
    ) {
        add(at: date, action)
    }

    func schedule(
        after date: VirtualMoment, interval: VirtualMoment.Stride, tolerance: VirtualMoment.Stride, options: Never?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        let isOver = Flag()
        repeatedly(action, at: date, every: interval, until: isOver)
        return AnyCancellable { isOver.raise() }
    }

    private func repeatedly(
        _ action: @escaping () -> Void, at moment: VirtualMoment, every interval: VirtualMoment.Stride,
        until isOver: Flag
    ) {
        add(at: moment) { [self] in
            guard !isOver.isRaised else { return }
            action()
            repeatedly(action, at: moment.advanced(by: interval), every: interval, until: isOver)
        }
    }

    /// Performs what is due until the moment, then stands there.
    func run(to moment: VirtualMoment) {
        while performNext(until: moment) {}
        state.withLock { $0.now = max($0.now, moment) }
    }

    /// Performs what is scheduled until nothing is.
    func run() {
        while performNext(until: VirtualMoment(milliseconds: .max)) {}
    }

    /// Moves to the next action, if one is due until the moment, and performs it.
    @discardableResult
    func performNext(until moment: VirtualMoment) -> Bool {
        let action = state.withLock { state -> Action? in
            guard
                let index = state.actions.indices.min(by: {
                    (state.actions[$0].at, state.actions[$0].id) < (state.actions[$1].at, state.actions[$1].id)
                }), state.actions[index].at <= moment
            else { return nil }
            state.now = max(state.now, state.actions[index].at)
            return state.actions.remove(at: index).action
        }
        action?.perform()
        return action != nil
    }

    private func add(at moment: VirtualMoment, _ perform: @escaping () -> Void) {
        let action = Action(perform: perform)
        state.withLock { state in
            state.nextID += 1
            state.actions.append((moment, state.nextID, action))
        }
    }
}

/// Something that happens once.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isRaised: Bool { state.withLock { $0 } }

    func raise() { state.withLock { $0 = true } }
}
