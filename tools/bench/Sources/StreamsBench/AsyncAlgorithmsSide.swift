internal import AsyncAlgorithms

/// The nearest operators of swift-async-algorithms and of the standard library.
enum AsyncAlgorithmsSide {
    static let operators = [
        Measurable(name: "buffer.algorithms", title: "buffer(.unbounded): swift-async-algorithms", isQuick: true) {
            count in
            await Numbers(count: count).buffer(policy: .unbounded).drained()
        },
        Measurable(name: "buffer.bounded.algorithms", title: "buffer(.bounded(256)): swift-async-algorithms") { count in
            await Numbers(count: count).buffer(policy: .bounded(256)).drained()
        },
        Measurable(name: "buffer.drop.algorithms", title: "buffer(.bufferingLatest(256)): swift-async-algorithms") {
            count in
            _ = await Numbers(count: count).buffer(policy: .bufferingLatest(256)).drained()
            return count
        },
        Measurable(name: "flatMap.standard", title: "flatMap, 1 at a time, 10 each: standard library", isQuick: true) {
            count in
            await Numbers(count: count / 10).flatMap { _ in Numbers(count: 10) }.drained()
        },
        Measurable(name: "flatMap.1.standard", title: "flatMap, 1 at a time, 1 each: standard library") { count in
            await Numbers(count: count).flatMap { _ in Numbers(count: 1) }.drained()
        },
        share(1),
        share(8),
    ]

    private static func share(_ subscribers: Int) -> Measurable {
        Measurable(
            name: "share.\(subscribers).algorithms",
            title: "share(.bounded(256)), \(subscribers) subscribers: swift-async-algorithms",
            isQuick: subscribers == 8
        ) { count in
            let shared = Numbers(count: count / subscribers).share(bufferingPolicy: .bounded(256))
            return await drained(subscribers) { shared }
        }
    }
}
