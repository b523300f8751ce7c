import PenstockCore

/// What a queue's status says of time; where it says nothing, no page has a place for it.
extension QueueStatus {
    /// Since when the oldest of its ready messages waits.
    var waitsSince: Timestamp? { nil }

    /// How long messages waited for a worker: the median and the 99th of a hundred.
    var waitQuantiles: String? { nil }

    /// How long messages were worked.
    var workQuantiles: String? { nil }
}
