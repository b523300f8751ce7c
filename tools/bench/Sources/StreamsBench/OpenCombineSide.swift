internal import Dispatch
internal import OpenCombine
internal import OpenCombineDispatch
internal import Synchronization

/// The same operators of OpenCombine. Its publishers pass elements on without a task or a lock in between, and most of
/// them synchronously.
enum OpenCombineSide {
    static let operators = [
        Measurable(name: "buffer.combine", title: "buffer, nothing dropped: OpenCombine", isQuick: true) { count in
            await counted((0..<count).publisher.buffer(size: count, prefetch: .byRequest, whenFull: .dropNewest))
        },
        Measurable(name: "flatMap.combine", title: "flatMap, 4 at a time, 10 each: OpenCombine", isQuick: true) {
            count in
            await counted((0..<count / 10).publisher.flatMap(maxPublishers: .max(4)) { _ in (0..<10).publisher })
        },
        Measurable(name: "flatMap.1.combine", title: "flatMap, 4 at a time, 1 each: OpenCombine") { count in
            await counted((0..<count).publisher.flatMap(maxPublishers: .max(4)) { Just($0) })
        },
        Measurable(name: "delay.combine", title: "delay by 1 ms, any number held: OpenCombine", isQuick: true) {
            count in
            let queue = DispatchQueue(label: "delay").ocombine
            return await counted((0..<count).publisher.delay(for: .milliseconds(1), scheduler: queue))
        },
        multicast(8, isQuick: true),
        multicast(1),
        Measurable(name: "subject.1.combine", title: "PassthroughSubject, 1 subscriber: OpenCombine") { count in
            await sent(count, by: PassthroughSubject<Int, Never>())
        },
    ]

    private static func multicast(_ subscribers: Int, isQuick: Bool = false) -> Measurable {
        Measurable(
            name: "multicast.\(subscribers).combine",
            title: "multicast without replay, \(subscribers) subscribers: OpenCombine", isQuick: isQuick
        ) { count in
            let numbers = (0..<count / subscribers).publisher.multicast(subject: PassthroughSubject())
            return await counted(numbers, subscribers: subscribers) { numbers.connect() }
        }
    }
}

/// Subscribes, and tells how many elements came in all once everybody's last one has.
func counted<P: Publisher>(
    _ publisher: P, subscribers: Int = 1, andThen start: () -> (any Cancellable)? = { nil }
) async -> Int where P.Failure == Never {
    let tally = CombineTally(subscribers)
    var held: [any Cancellable] = []
    await withCheckedContinuation { continuation in
        tally.whenAllHaveFinished { continuation.resume() }
        for _ in 0..<subscribers {
            held.append(
                publisher.sink(receiveCompletion: { _ in tally.finish() }, receiveValue: { _ in tally.add() }))
        }
        if let connection = start() { held.append(connection) }
    }
    return withExtendedLifetime(held) { tally.count }
}

/// Sends so many numbers to one subscriber, and tells how many came.
func sent(_ count: Int, by subject: some Subject<Int, Never>) async -> Int {
    await counted(subject) {
        for value in 0..<count { subject.send(value) }
        subject.send(completion: .finished)
        return nil
    }
}

/// Counts what subscribers receive, one after the other.
private final class CombineTally: Sendable {
    private struct State {
        var left: Int
        var whenFinished: (@Sendable () -> Void)?
    }

    private let elements = Atomic(0)
    private let state: Mutex<State>

    init(_ subscribers: Int) {
        state = Mutex(State(left: subscribers))
    }

    var count: Int { elements.load(ordering: .relaxed) }

    func add() { elements.add(1, ordering: .relaxed) }

    func whenAllHaveFinished(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenFinished = action }
    }

    func finish() {
        let action = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.whenFinished : nil
        }
        action?()
    }
}
