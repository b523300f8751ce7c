/// One subscription to a replay.
@usableFromInline
struct ReplaySubscription<Element: Sendable, Failure: Error>: StreamStorage {
    @usableFromInline let replay: ReplayStorage<Element, Failure>
    @usableFromInline let name: Int

    @inlinable init(to replay: ReplayStorage<Element, Failure>) {
        self.replay = replay
        name = replay.subscribe()
    }

    @inlinable func take() -> Element? {
        guard case .give(let element) = replay.come(name, nil) else { return nil }
        return element
    }

    @inlinable func next(_ consumer: StreamConsumer<Element, Failure>) {
        if let word = replay.come(name, consumer) { replay.tell(consumer, word) }
    }

    @inlinable func letGo() { replay.leave(name) }

    @inlinable func request(_ count: Int) { replay.request(count, by: name) }
}
