import PenstockCore
import Synchronization

/// What is known of the queues, for all requests.
///
/// A message is sent and received by settings that are a second old at most. What a client changes through this process holds at
/// once, and through another one within that second. Amazon takes up to a minute.
final class QueueDirectory: Sendable {
    private static let keptFor = Duration.seconds(1)
    private static let keptMax = 1000
    private static let triesMax = 20
    /// So many queues are asked one by one; more are asked for together, with all others.
    private static let fewSources = 5

    private struct Kept<Value: Sendable>: Sendable {
        var value: Value
        var readAt: BootTime
    }

    private struct State {
        var storeID: StoreID?
        var settings: [QueueName: Kept<QueueSettings>] = [:]
        var all: Kept<[QueueSettings]>?
    }

    let store: any MessageStore
    let time: any TimeSource
    private let state = Mutex(State())

    init(store: any MessageStore, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    /// Where the handles of a queue's messages are good.
    func place(of queue: QueueName) async throws -> ReceiptHandle.Place {
        ReceiptHandle.Place(queue: queue, store: try await storeID())
    }

    /// Which store this is; `nil`: it has no identity.
    func storeID() async throws -> StoreID? {
        if let id = state.withLock({ $0.storeID }) { return id }
        let id = try await store.storeID()
        state.withLock { $0.storeID = id }
        return id
    }

    /// A queue's settings, a second old at most.
    ///
    /// - Throws: a refusal when there is no such queue; what the store throws.
    func settings(of queue: QueueName) async throws -> QueueSettings {
        if let kept = state.withLock({ $0.settings[queue] }), isFresh(kept.readAt) { return kept.value }
        return try await read(queue)
    }

    /// A queue's settings as they are now.
    func read(_ queue: QueueName) async throws -> QueueSettings {
        guard let settings = try await find(queue) else { throw Refusal.unknownQueue }
        return settings
    }

    /// A queue's settings as they are now; `nil` when there is no such queue.
    func find(_ queue: QueueName) async throws -> QueueSettings? {
        let now = time.boot
        let status: StoreStatus
        do {
            status = try await store.status(of: queue)
        } catch let error as PenstockError where error.code == .unknownQueue {
            forget(queue)
            return nil
        }
        guard let found = status.queues.first, !found.isDeleting else {
            forget(queue)
            return nil
        }
        let settings = QueueSettings(found, status.cursors)
        state.withLock { state in
            if state.settings.count >= Self.keptMax { state.settings.removeAll() }
            state.settings[queue] = Kept(value: settings, readAt: now)
        }
        return settings
    }

    /// All queues by name, a second old at most unless they are to be read anew.
    func all(anew: Bool) async throws -> [QueueSettings] {
        if !anew, let kept = state.withLock({ $0.all }), isFresh(kept.readAt) { return kept.value }
        let now = time.boot
        let status = try await store.status(of: nil)
        let cursors = Dictionary(grouping: status.cursors, by: \.queue)
        let all = status.queues.filter { !$0.isDeleting }.map { QueueSettings($0, cursors[$0.name] ?? []) }
        state.withLock { $0.all = Kept(value: all, readAt: now) }
        return all
    }

    /// The queues whose dead-letter queue this one is.
    func sources(of queue: QueueName, anew: Bool = false) async throws -> [QueueSettings] {
        try await all(anew: anew).filter { $0.isSource(of: queue) }
    }

    /// How many dead letters the queues have whose dead-letter queue this one is. Which these are is a second old at most, as settings
    /// are; of how many they have each of a few is asked alone, so that a look at one queue costs nothing for all the others.
    func deadOfSources(of queue: QueueName) async throws -> Int {
        let sources = try await sources(of: queue)
        if sources.count > Self.fewSources {
            return try await self.sources(of: queue, anew: true).reduce(0) { $0 + $1.depths.dead }
        }
        var count = 0
        for known in sources {
            if let source = try await find(known.name), source.isSource(of: queue) { count += source.depths.dead }
        }
        return count
    }

    /// Looks anew for that queue the next time.
    func forget(_ queue: QueueName) {
        state.withLock { state in
            state.settings[queue] = nil
            state.all = nil
        }
    }

    /// Changes a queue's note. Of two changes at the same time neither undoes the other.
    ///
    /// A crash between two steps leaves the old note or the new one, and perhaps an older version beside it, which the next change
    /// removes.
    func change(_ queue: QueueName, _ change: (inout QueueNote) throws -> Void) async throws {
        defer { forget(queue) }
        for _ in 0..<Self.triesMax {
            let before = try await read(queue)
            var note = before.note
            try change(&note)
            let now = time.now.microseconds / 1_000_000
            note.createdAt = note.createdAt ?? now
            note.modifiedAt = now
            let (number, text) = (try NoteVersion.number(after: before.version?.number ?? 0), try note.text())
            let cursor = NoteVersion.cursor(number)
            let placed = try await store.moveCursor(cursor, of: queue, .place(after: nil, note: text))
            guard let kept = placed?.note, kept.utf8.elementsEqual(text.utf8) else { continue }
            let after = try await read(queue)
            if after.version?.number == number {
                for older in after.olderVersions {
                    try await store.moveCursor(NoteVersion.cursor(older), of: queue, .remove)
                }
                return
            }
            // Somebody was further on already: what was written here counts for nothing, and goes.
            try await store.moveCursor(cursor, of: queue, .remove)
        }
        throw Refusal(
            "RequestThrottled", "Others change the queue '\(queue)' at the same time; try again.", isSendersFault: false
        )
    }

    private func isFresh(_ readAt: BootTime) -> Bool { readAt.isRecent(at: time.boot, within: Self.keptFor) }
}
