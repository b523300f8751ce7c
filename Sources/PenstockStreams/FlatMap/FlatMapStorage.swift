public import Synchronization

/// One iteration of a bounded flatMap: the lock around the state machine, and the tasks that feed it.
///
/// A slot is a task that reads an element of upstream, then its inner sequence, then the next element: there are as many
/// slots as inner sequences run at once, and one of them at a time reads upstream. They begin with the first `next()`, are
/// cancelled as soon as nobody wants more, and the end is told to the consumer only when all of them have ended.
@usableFromInline
final class FlatMapStorage<
    Base: AsyncSequence & Sendable, Inner: AsyncSequence & SendableMetatype, Failure: Error
>: StreamStorage where Base.Element: Sendable, Inner.Element: Sendable {
    @usableFromInline typealias Element = Inner.Element
    @usableFromInline typealias Flow = FlatMapSequence<Base, Inner, Failure>
    @usableFromInline typealias Consumer = StreamConsumer<Element, Failure>
    /// Resumed with whether to go on.
    @usableFromInline typealias Producer = UnsafeContinuation<Bool, Never>
    @usableFromInline typealias Machine = FlatMapStateMachine<Element, Failure, Consumer, Producer>

    /// Upstream's iterator, for the slots to share.
    // The machine gives the turn to one slot at a time, and only that one touches it.
    @usableFromInline final class Upstream: @unchecked Sendable {
        @usableFromInline var iterator: Base.AsyncIterator?

        @inlinable init(_ iterator: Base.AsyncIterator) { self.iterator = iterator }
    }

    @usableFromInline let flow: Flow
    @usableFromInline let machine: Mutex<Machine>
    @usableFromInline let task = UpstreamTask()
    @usableFromInline let demand = UpstreamDemand()

    @inlinable init(_ flow: Flow) {
        self.flow = flow
        machine = Mutex(Machine(maxConcurrent: flow.maxConcurrent))
    }

    @inlinable func take() -> Element? {
        guard let (element, inner) = machine.withLock({ $0.take() }) else { return nil }
        inner.resume(returning: true)
        return element
    }

    @inlinable func next(_ consumer: Consumer) {
        perform { $0.next(consumer) }
    }

    @inlinable func letGo() {
        perform { $0.letGo() }
    }

    /// Tells the machine of an event, and does what it says.
    @inlinable func perform(_ event: (inout Machine) -> Machine.Action?) {
        if let action = machine.withLock({ event(&$0) }) { carryOut(action) }
    }

    @inlinable func carryOut(_ action: Machine.Action) {
        switch action {
        case .start:
            task.begin { await self.run() }
        case .give(let element, let consumer, let inner):
            consumer.resume(returning: .success(element))
            inner.resume(returning: true)
        case .end(let consumer, let failure): consumer.end(failure)
        case .goOn(let producer, let goesOn):
            producer.resume(returning: goesOn)
        case .rest(let producers):
            for producer in producers { producer.resume(returning: false) }
        case .cancel(let producers, _):
            task.cancel()
            for producer in producers { producer.resume(returning: false) }
        }
    }

    /// Suspends a producer until the machine lets it go on (true) or stops it.
    @inlinable func goesOn(_ event: (inout Machine, Producer) -> Machine.Action?) async -> Bool {
        await withUnsafeContinuation { producer in
            perform { event(&$0, producer) }
        }
    }

    @inlinable func run() async {
        let upstream = Upstream(flow.base.makeAsyncIterator())
        demand.ask(flow.maxConcurrent)
        if let iterator = upstream.iterator { demand.begin(with: iterator) }
        if let delegate = flow.delegate?.make() {
            await withDiscardingTaskGroup { group in
                group.addTask { await delegate.run() }
                await self.readInSlots { await $0.read(upstream, with: delegate) }
                group.cancelAll()
            }
        } else {
            await readInSlots { await $0.read(upstream) }
        }
        await upstream.iterator.take()?.closeIfNeeded()
        demand.end()
        perform { $0.tasksEnded() }
    }

    @inlinable func readInSlots(_ slot: @escaping @Sendable (FlatMapStorage) async -> Void) async {
        await withDiscardingTaskGroup { group in
            while await goesOn({ $0.spawnerWaits($1) }) {
                group.addTask { await slot(self) }
            }
        }
    }

    // MARK: A slot

    /// Reads an element of upstream and its inner sequence, and again. It begins with the turn to read upstream.
    @inlinable func read(_ upstream: Upstream) async {
        var hasTurn: Bool? = true
        while await goesOn(hasTurn), let element = await nextElement(of: upstream) {
            guard let element = begins(element) else { return }
            do throws(Inner.Failure) {
                guard try await readInner(of: element) else { return }
            } catch {
                return perform { $0.failed(flow.failureOfInner(error)) }
            }
            // Before a slot comes for it: an upstream that hears of it only then would be asked too late.
            demand.ask(1)
            // An inner sequence that has cancelled its own task cancels no other: the next one has a task of its own.
            if Task.isCancelled { return perform { $0.innerFinished() } }
            hasTurn = machine.withLock { $0.innerFinishedAndTakesTurn() }
        }
    }

    @inlinable func read(_ upstream: Upstream, with delegate: FlatMapDelegate<Base.Element>) async {
        var hasTurn: Bool? = true
        while await goesOn(hasTurn), let arrived = await nextElement(of: upstream) {
            guard let element = begins(arrived) else { return await delegate.discard(arrived) }
            let read: @Sendable () async -> FlatMapInner.End = {
                do {
                    return try await self.readInner(of: element) ? .finished : .unwanted
                } catch {
                    return .failed(error)
                }
            }
            do {
                try await delegate.read(FlatMapInner(read: read, makeRoom: { self.makeRoom() }), element)
            } catch {
                if let failure = flow.delegate?.failure(error) { perform { $0.failed(failure) } }
            }
            hasTurn = Task.isCancelled ? false : machine.withLock { $0.takeTurn() }
        }
    }

    /// Suspends a slot until it has the turn. Returns whether it does.
    @inlinable func goesOn(_ hasTurn: Bool?) async -> Bool {
        if let hasTurn { return hasTurn }
        return await goesOn { $0.slotWaits($1) }
    }

    /// The next element of upstream, for the slot that has the turn; `nil` when there is none, or nobody wants it.
    @inlinable func nextElement(of upstream: Upstream) async -> Base.Element? {
        guard !Task.isCancelled, var iterator = upstream.iterator.take() else { return nil }
        do throws(Base.Failure) {
            guard let element = try await iterator.next(isolation: nil) else {
                perform { $0.upstreamFinished() }
                return nil
            }
            upstream.iterator = iterator
            return element
        } catch {
            perform { $0.failed(flow.failureOfBase(error)) }
            return nil
        }
    }

    /// The slot that had the turn gives it back. Returns the element if its inner sequence begins: one that arrives after
    /// the end is let go, and its inner sequence never begins.
    @inlinable func begins(_ element: Base.Element) -> Base.Element? {
        let (begins, action) = machine.withLock { $0.elementCame() }
        if let action { carryOut(action) }
        return begins ? element : nil
    }

    @inlinable func makeRoom() {
        demand.ask(1)
        perform { $0.innerFinished() }
    }

    /// Reads the inner sequence to its end (true), or until nobody wants more of it. Its iterator is gone on return,
    /// so that upstream is never asked for another while this one holds something.
    @inlinable func readInner(of element: Base.Element) async throws(Inner.Failure) -> Bool {
        var inner = flow.transform(element).makeAsyncIterator()
        while let value = try await inner.next(isolation: nil) {
            switch machine.withLock({ $0.offer() }) {
            case .give(let consumer): consumer.resume(returning: .success(value))
            case .wait where await goesOn({ $0.innerWaits(value, $1) }): break
            case .wait, .stop:
                await inner.closeIfNeeded()
                return false
            }
        }
        return true
    }
}
