/// A sequence that reads another one once for all its subscribers. Made by `shareReplay(_:backlog:onDrop:)`, whose
/// description holds for it. Copies share.
public struct ShareReplaySequence<Base: AsyncSequence & Sendable, Failure: Error>: AsyncSequence, Sendable
where Base.Element: Sendable {
    /// What the other sequence gives.
    public typealias Element = Base.Element

    @usableFromInline let storage: ReplayStorage<Element, Failure>

    @inlinable init(
        _ base: Base, _ count: Int, _ backlog: ReplayBacklog<Failure>, _ onDrop: @escaping @Sendable (Element) -> Void,
        failureOfBase: @escaping @Sendable (Base.Failure) -> Failure
    ) {
        let aheadMax = backlog.waitsAt
        storage = ReplayStorage(bufferSize: count, backlog: backlog, onDrop: onDrop) { storage in
            var upstream = base.makeAsyncIterator()
            let demand = UpstreamDemand()
            demand.ask(aheadMax ?? .max)
            demand.begin(with: upstream)
            do throws(Base.Failure) {
                while let element = try await upstream.next(isolation: nil) {
                    guard await storage.pass(element) else { break }
                    if aheadMax != nil { demand.ask(1) }
                }
                await upstream.closeIfNeeded()
                return .finished
            } catch {
                return .failed(failureOfBase(error))
            }
        }
    }

    /// How many subscriptions there are.
    @inlinable public var subscriberCount: Int { storage.subscriberCount }

    /// Subscribes: what is remembered now and what comes from now on comes out of the iterator. Upstream is asked for
    /// nothing before the first `next()` of a subscriber. The one whose cancellation ends upstream is told so only when
    /// upstream's task has ended.
    @inlinable public func makeAsyncIterator() -> ReplayIterator<Element, Failure> {
        ReplayIterator(storage)
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Reads the sequence once for all subscribers, and gives each newcomer the last `count` elements first.
    ///
    /// - Begins to read upstream when the first subscriber asks for an element, and cancels it when the last one leaves:
    ///   by cancellation, or by letting its iterator go. What is remembered stays. The next subscriber gets it, and
    ///   upstream is read anew.
    /// - Gives a newcomer what is remembered, and then what comes from its subscription on: in upstream's order, and
    ///   none twice.
    /// - Keeps for each subscriber what it has not asked for yet, within the bound that `backlog` names.
    /// - Gives everybody upstream's finish or failure after the elements before it. A later newcomer gets what is
    ///   remembered, and that same end.
    /// - Runs one task while upstream is read, on the executor of the subscriber that began it. It ends before the last
    ///   subscriber's cancellation returns.
    ///
    /// ```swift
    /// let shared = prices.shareReplay(1)
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many elements are remembered for newcomers, 0 or more.
    ///   - backlog: how many elements may wait for a slow subscriber, and what happens then.
    ///   - onDrop: told of each element that a subscriber lost, once for each of these.
    @inlinable public func shareReplay(
        _ count: Int,
        backlog: ReplayBacklog<Failure> = .suspendSender(at: 256),
        onDrop: @escaping @Sendable (Element) -> Void = { _ in }
    ) -> ShareReplaySequence<Self, Failure> {
        ShareReplaySequence(self, count, backlog, onDrop, failureOfBase: { $0 })
    }

    /// Reads a sequence that cannot fail once for all subscribers, where a subscriber that falls behind does.
    ///
    /// It does as `shareReplay(_:backlog:onDrop:)` for sequences that fail as subscribers do.
    @inlinable public func shareReplay<Behind: Error>(
        _ count: Int,
        backlog: ReplayBacklog<Behind>,
        onDrop: @escaping @Sendable (Element) -> Void = { _ in }
    ) -> ShareReplaySequence<Self, Behind> where Failure == Never {
        ShareReplaySequence(self, count, backlog, onDrop, failureOfBase: impossible)
    }
}
