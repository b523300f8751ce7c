internal import PenstockStreams

enum PenstockSide {
    static let operators = [
        Measurable(name: "buffer.penstock", title: "buffer, nothing dropped: PenstockStreams", isQuick: true) { count in
            await Numbers(count: count)
                .buffer(size: count, prefetch: .byRequest, whenFull: BufferOverflow<Never>.dropNewest).drained()
        },
        Measurable(name: "buffer.drop.penstock", title: "buffer of 256 that drops the oldest: PenstockStreams") {
            count in
            _ = await Numbers(count: count)
                .buffer(size: 256, prefetch: .byRequest, whenFull: BufferOverflow<Never>.dropOldest).drained()
            return count
        },
        Measurable(name: "flatMap.penstock", title: "flatMap, 4 at a time, 10 each: PenstockStreams", isQuick: true) {
            count in
            await Numbers(count: count / 10).flatMap(maxConcurrent: 4, { _ in Numbers(count: 10) }).drained()
        },
        Measurable(name: "flatMap.1.penstock", title: "flatMap, 4 at a time, 1 each: PenstockStreams") { count in
            await Numbers(count: count).flatMap(maxConcurrent: 4, { _ in Numbers(count: 1) }).drained()
        },
        Measurable(name: "delay.penstock", title: "delay by 1 ms, 10,000 held: PenstockStreams", isQuick: true) {
            count in
            await Numbers(count: count).delay(for: .milliseconds(1), holding: 10_000, clock: .continuous).drained()
        },
        shareReplay(1),
        shareReplay(8),
    ]

    private static func shareReplay(_ subscribers: Int) -> Measurable {
        Measurable(
            name: "share.\(subscribers).penstock", title: "shareReplay(1), \(subscribers) subscribers: PenstockStreams",
            isQuick: subscribers == 8
        ) { count in
            let shared = Numbers(count: count / subscribers).shareReplay(1)
            return await drained(subscribers) { shared }
        }
    }
}

/// Lets subscribers take every element of what `make` gives each of them.
func drained<S: AsyncSequence & Sendable>(
    _ subscribers: Int, _ make: () -> S
) async -> Int where S.Failure == Never, S.Element: Sendable {
    await withTaskGroup(of: Int.self) { group in
        for _ in 0..<subscribers {
            let sequence = make()
            group.addTask { await sequence.drained() }
        }
        return await group.reduce(0, +)
    }
}
