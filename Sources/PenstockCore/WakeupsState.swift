extension Wakeups {
    /// A task that waits.
    struct Sleeper {
        let awaited: Change
        /// How many messages it can take: no more than a claim gives, so that the room of all of them can be added up.
        let room: Int
        /// What is done when it is woken, or when its wait is cancelled.
        let resume: @Sendable (Result<Void, any Error>) -> Void

        init(awaited: Change, room: Int, resume: @escaping @Sendable (Result<Void, any Error>) -> Void) {
            self.awaited = awaited
            self.room = min(room, Limits.batchCountMax)
            self.resume = resume
        }
    }

    /// The tasks that wait, and what has rung.
    struct State {
        /// How often it was rung, wherever.
        var ringCount: UInt64 = 0
        var lastRingForAll: UInt64 = 0
        /// The last one that was for all who wait for anything but work: as above, or for news.
        var lastNewsForAll: UInt64 = 0
        /// The numbers of the last rings: for each bucket, one for each change.
        var lastRings = [UInt64](repeating: 0, count: RingBucket.count * Change.count)
        /// By bucket and by number, which is the order in which they came.
        var sleepers: [Int: [UInt64: Sleeper]] = [:]
        var sleeperCount = 0
        /// Tasks that wait until so many others wait for a ring.
        var watchers: [(count: Int, waiter: Waiter<Void>)] = []
        var nextID: UInt64 = 0

        func lastRing(for change: Change, at bucket: Int) -> UInt64 {
            max(change == .work ? lastRingForAll : lastNewsForAll, lastRings[bucket * Change.count + change.rawValue])
        }

        mutating func ring(for change: Change, at bucket: Int) {
            ringCount += 1
            for awaited in 0...change.rawValue { lastRings[bucket * Change.count + awaited] = ringCount }
        }

        mutating func takeID() -> UInt64 {
            nextID += 1
            return nextID
        }

        /// - Returns: the tasks that wait for so many to wait.
        mutating func add(_ sleeper: Sleeper, _ id: UInt64, at bucket: Int) -> [Waiter<Void>] {
            sleepers[bucket, default: [:]][id] = sleeper
            sleeperCount += 1
            if watchers.isEmpty { return [] }
            let content = watchers.filter { $0.count <= sleeperCount }.map(\.waiter)
            watchers.removeAll { $0.count <= sleeperCount || $0.waiter.isOver }
            return content
        }

        mutating func remove(_ id: UInt64, at bucket: Int) -> Sleeper? {
            guard let sleeper = sleepers[bucket]?.removeValue(forKey: id) else { return nil }
            if sleepers[bucket]?.isEmpty == true { sleepers[bucket] = nil }
            sleeperCount -= 1
            return sleeper
        }

        mutating func take(for change: Change, at bucket: Int) -> [Sleeper] {
            guard let all = sleepers[bucket] else { return [] }
            // Most often it is for all of them.
            let left = change == .work ? [:] : all.filter { $0.value.awaited > change }
            sleepers[bucket] = left.isEmpty ? nil : left
            sleeperCount -= all.count - left.count
            return left.isEmpty ? Array(all.values) : all.values.filter { $0.awaited <= change }
        }
    }
}
