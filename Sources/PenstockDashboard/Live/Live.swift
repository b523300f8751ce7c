import Penstock
import PenstockCore
import PenstockHTTP
import Synchronization

/// Looks at the queues' numbers, keeps what they have been, and tells open pages which queues have changed.
///
/// One task looks: once a second, and four times a second while a page is open. A look is one call of `status`, which reads as many
/// rows as there are queues, however many messages they have. What has changed is what two looks tell apart, so changes of every
/// process, and of plain SQL, are seen alike.
final class Live: Sendable {
    /// What is told to open pages.
    enum News: Sendable, Equatable {
        /// These queues have changed.
        case changed([QueueName])
        /// Anything may have changed: the reader was too slow for what was to be told.
        case missed
        /// Nothing has to have changed: time has passed, and the line is open.
        case tick
    }

    /// Pages that are told at the same time. More have to ask by themselves.
    static let listenerCountMax = 256

    private struct State {
        var histories: [QueueName: History] = [:]
        var all = History()
        var windows: [QueueName: LatencyWindow] = [:]
        /// What came in the last minute, by queue.
        var recent: [QueueName: QueueLatency] = [:]
        var last: [QueueName: QueueStatus] = [:]
        var listeners: [UInt64: AsyncStream<News>.Continuation] = [:]
        var nextID: UInt64 = 0
        /// Whether the queues were another store's at the last look.
        var move: StoreMove?
        /// Whether anybody has looked: what the first look sees was there before.
        var hasLooked = false
        var isOver = false
    }

    private let state = Mutex(State())

    /// How often open pages are told that their line is open: several times before a page's script, which waits for 15 seconds, takes it for lost.
    static let tickInterval = Duration.seconds(5)

    /// Looks, and tells open pages that time passes, until the task is cancelled.
    ///
    /// - Parameter tokens: by which visitors are known. When they change each line has something to tell at once, and with that is asked
    ///   whom it tells.
    func run(_ store: PenstockStore, tokens: Tokens? = nil, time: any TimeSource) async {
        defer { finish() }
        let call = tokens?.whenChanged { [self] in tell(.tick) }
        defer { if let call { tokens?.forget(call) } }
        await withTaskGroup(of: Void.self) { group in
            // Beside the looks: one that takes long says nothing of the lines to the pages.
            group.addTask { await self.keepTicking(time) }
            group.addTask { await self.keepLooking(at: store, time) }
        }
    }

    private func keepTicking(_ time: any TimeSource) async {
        while !Task.isCancelled {
            do { try await time.sleep(for: Self.tickInterval) } catch { return }
            tell(.tick)
        }
    }

    private func keepLooking(at store: PenstockStore, _ time: any TimeSource) async {
        while !Task.isCancelled {
            // A store that does not answer now may do so in a moment; the charts have a gap meanwhile.
            if let status = try? await store.storage.status(of: nil) {
                look(at: status.queues, move: status.move, now: time.now)
            }
            let isWatched = state.withLock { !$0.listeners.isEmpty }
            do { try await time.sleep(for: isWatched ? .milliseconds(250) : .seconds(1)) } catch { return }
        }
    }

    /// Takes what a look has seen.
    func look(at queues: [QueueStatus], move: StoreMove? = nil, now: Timestamp) {
        let second = now.microseconds / 1_000_000
        let news: News? = state.withLock { state in
            var changed: [QueueName] = []
            var seen: [QueueName: QueueStatus] = [:]
            var recentOfAll = QueueLatency()
            seen.reserveCapacity(queues.count)
            for queue in queues {
                if state.last[queue.name] != queue { changed.append(queue.name) }
                seen[queue.name] = queue
                let recent = state.windows[queue.name, default: LatencyWindow()].record(queue.latency, at: second)
                state.recent[queue.name] = recent
                recentOfAll.add(recent)
                state.histories[queue.name, default: History()].record(
                    Sample(queue.depths, queue.totals, recent: recent, oldest: queue.oldestReady), at: now)
            }
            for name in state.last.keys where seen[name] == nil {
                changed.append(name)
                state.histories[name] = nil
                state.windows[name] = nil
                state.recent[name] = nil
            }
            state.all.record(Sample(allOf: queues, recent: recentOfAll), at: now)
            // What has changed between a page's making and the first look nobody can tell apart from what was there before.
            let isAll = !state.hasLooked || state.move != move
            state.hasLooked = true
            (state.last, state.move) = (seen, move)
            if isAll { return .missed }
            return changed.isEmpty ? nil : .changed(changed)
        }
        if let news { tell(news) }
    }

    /// What the last look said of the store's move; before the first one the store is asked. One that does not answer says nothing of it:
    /// the page itself says that then.
    func move(of store: PenstockStore) async -> StoreMove? {
        let (hasLooked, move) = state.withLock { ($0.hasLooked, $0.move) }
        return hasLooked ? move : try? await store.storage.storeMove()
    }

    /// What a queue's numbers have been; of all queues together when it is `nil`.
    func history(of queue: QueueName?) -> History {
        state.withLock { state in queue.map { state.histories[$0] ?? History() } ?? state.all }
    }

    /// How long messages of a queue have waited and been worked in the last minute.
    func recent(of queue: QueueName) -> QueueLatency { state.withLock { $0.recent[queue] } ?? QueueLatency() }

    /// What there is to tell from now on; `nil` when as many listen as may.
    func listen() -> AsyncStream<News>? {
        // A page that is slow misses news, and is told so.
        let (stream, continuation) = AsyncStream.makeStream(of: News.self, bufferingPolicy: .bufferingNewest(8))
        let id: UInt64? = state.withLock { state in
            guard !state.isOver, state.listeners.count < Self.listenerCountMax else { return nil }
            state.nextID += 1
            state.listeners[state.nextID] = continuation
            return state.nextID
        }
        guard let id else { return nil }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    private func tell(_ news: News) {
        for listener in state.withLock({ Array($0.listeners.values) }) {
            // What was dropped may have been of any queue.
            if case .dropped = listener.yield(news) { listener.yield(.missed) }
        }
    }

    /// Ends what open pages are told.
    private func finish() {
        let listeners = state.withLock { state in
            state.isOver = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
