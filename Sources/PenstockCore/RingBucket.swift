/// Where queues ring, on ``Wakeups``, on ``Notices`` and between processes: they share buckets, by a hash of their names that is the
/// same in every process.
package enum RingBucket {
    /// How many buckets there are.
    package static let count = 1024

    /// Where `queue` rings: FNV-1a of its name (http://www.isthe.com/chongo/tech/comp/fnv/), the same in every process.
    package static func of(_ queue: QueueName) -> Int {
        let hash = hash(of: queue)
        return Int((hash ^ hash >> 32) % UInt64(count))
    }

    /// Tells `queue` from most others at its bucket.
    package static func tag(of queue: QueueName) -> UInt16 {
        UInt16(truncatingIfNeeded: hash(of: queue) >> 16)
    }

    private static func hash(of queue: QueueName) -> UInt64 {
        queue.text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// What rings at a bucket, for a store that asks for each ring on its own, as a client of a server does.
package enum Bell: UInt8, CaseIterable, Sendable {
    /// Whatever changes in a queue's log.
    case log
    /// There may be room in the line.
    case room
    /// There may be messages to claim.
    case work
    /// Those who work may be asked to end (``Notices``).
    case notice
}
