internal import PenstockCombine

/// The publishers of PenstockCombine, in memory, beside those of `OpenCombineSide`.
enum PenstockCombineSide {
    static let operators = [
        Measurable(name: "buffer.exact", title: "buffer, nothing dropped: PenstockCombine", isQuick: true) { count in
            await counted((0..<count).publisher.buffer(size: count, prefetch: .byRequest, whenFull: .dropNewest))
        },
        Measurable(name: "delay.exact", title: "delay by 1 ms, any number held: PenstockCombine", isQuick: true) {
            count in
            let queue = DispatchQueue(label: "delay").ocombine
            return await counted((0..<count).publisher.delay(for: .milliseconds(1), scheduler: queue))
        },
        multicast(8, isQuick: true),
        multicast(1),
        Measurable(name: "subject.1.exact", title: "ReplaySubject(bufferSize: 1), 1 subscriber: PenstockCombine") {
            count in
            let subject = ReplaySubject<Int, Never>(bufferSize: 1)
            return await sent(count, by: subject)
        },
        Measurable(name: "share.8.exact", title: "shareReplay(1), 8 subscribers: PenstockCombine") { count in
            let start = PassthroughSubject<Int, Never>()
            let shared = start.shareReplay(1)
            return await counted(shared, subscribers: 8) {
                for value in 0..<count / 8 { start.send(value) }
                start.send(completion: .finished)
                return nil
            }
        },
    ]

    private static func multicast(_ subscribers: Int, isQuick: Bool = false) -> Measurable {
        Measurable(
            name: "multicast.\(subscribers).exact",
            title: "multicast by ReplaySubject(bufferSize: 1), \(subscribers) subscribers: PenstockCombine",
            isQuick: isQuick
        ) { count in
            let subject = ReplaySubject<Int, Never>(bufferSize: 1)
            let numbers = (0..<count / subscribers).publisher.multicast(subject: subject)
            return await counted(numbers, subscribers: subscribers) { numbers.connect() }
        }
    }
}
