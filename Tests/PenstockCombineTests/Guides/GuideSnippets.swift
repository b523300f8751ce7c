import PenstockCombine

/// What the guides of PenstockCombine show. A test compares each block with the one in its guide.
struct Guides {
    // shown
    func inMemory() -> AnyPublisher<Int, Never> {
        (1...10).publisher
            .buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest)
            .flatMap(maxPublishers: .max(1)) { Just($0).delay(for: .seconds(1), scheduler: DispatchQueue.main) }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func inAQueue(_ waiting: Queue<Int>) -> AnyPublisher<Int, any Error> {
        (1...10).publisher
            .buffer(size: 4, prefetch: .byRequest, whenFull: .dropNewest, in: waiting)
            .flatMap(maxPublishers: .max(1)) { Just($0).delay(for: .seconds(1), scheduler: DispatchQueue.main) }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func lossless(_ lines: some Publisher<String, Never>, _ waiting: Queue<String>) -> AnyPublisher<Int, any Error> {
        lines.buffer(size: 1_000, in: waiting)
            .flatMap(maxPublishers: .max(8)) { Just($0.count) }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func shipments(
        _ orders: Queue<Int>, ship: @escaping (Int) -> AnyPublisher<String, any Error>
    ) -> AnyPublisher<String, any Error> {
        orders.publisher
            .flatMap(maxPublishers: .max(4)) { order in ship(order) }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func numbers(_ orders: Queue<Int>) -> AnyPublisher<SequenceNumber, any Error> {
        orders.publisher(inFlightMax: 2, lease: .seconds(60))
            .map { delivery in delivery.sequence }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func reminders(_ events: some Publisher<String, Never> & SendableMetatype) -> AnyPublisher<String, Never> {
        events.delay(for: .seconds(60), scheduler: DispatchQueue.main).eraseToAnyPublisher()
    }
    // end

    // shown
    func durableReminders(
        _ events: some Publisher<String, Never>, _ pending: Queue<String>
    ) -> AnyPublisher<String, any Error> {
        events.delay(for: .seconds(60), in: pending)
            .flatMap(maxPublishers: .max(1)) { Just($0) }
            .eraseToAnyPublisher()
    }
    // end

    // shown
    func thermometer() -> ReplaySubject<Double, Never> {
        let temperatures = ReplaySubject<Double, Never>(bufferSize: 1, backlog: .dropOldest(at: 16))
        temperatures.send(21.5)
        return temperatures
    }
    // end

    // shown
    func shared(_ prices: some Publisher<Int, Never>) -> AnyPublisher<Int, Never> {
        prices.shareReplay(1).eraseToAnyPublisher()
    }
    // end

    // shown
    func durableThermometer(_ log: Queue<Double>) -> ReplaySubject<Double, any Error> {
        let temperatures = ReplaySubject(bufferSize: 1, in: log)
        temperatures.send(21.5)
        return temperatures
    }
    // end

    // shown
    func durablyShared(_ prices: some Publisher<Int, Never>, _ log: Queue<Int>) -> AnyPublisher<Int, any Error> {
        prices.shareReplay(1, in: log).eraseToAnyPublisher()
    }
    // end
}
