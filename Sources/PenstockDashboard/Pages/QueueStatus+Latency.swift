import PenstockCore

/// What a queue's status says of time.
extension QueueStatus {
    /// Since when the oldest of its ready messages waits.
    var waitsSince: Timestamp? { nil }

    /// How long messages waited for a worker: the median and the 99th of a hundred.
    var waitQuantiles: Fields? { nil }

    /// How long messages were worked.
    var workQuantiles: Fields? { nil }
}
