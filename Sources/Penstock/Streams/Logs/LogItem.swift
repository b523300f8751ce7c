internal import PenstockCore

/// One value of a log, on its way to subscribers.
struct LogItem<Value: Sendable>: Sendable {
    /// Its message's place in the log.
    let sequence: SequenceNumber
    /// How many messages the queue had accepted with this one. Gaps are messages that were forgotten.
    let ordinal: Int
    /// About how much memory it holds.
    let bytes: Int
    /// The value, or why the payload is none.
    let value: Result<Value, PenstockError>

    /// The place behind it.
    var place: LogPlace { LogPlace(sequence: sequence, ordinal: ordinal) }
}

/// A place between two messages of a log.
struct LogPlace: Hashable, Sendable {
    /// Everything up to this message is behind it.
    var sequence: SequenceNumber
    /// How many messages of the queue are behind it, whether they were read or forgotten.
    var ordinal: Int
}

/// What was read of a log from a place on.
struct LogStretch<Value: Sendable>: Sendable {
    /// The values, in order.
    var items: [LogItem<Value>]
    /// The place behind them.
    var reach: LogPlace
    /// How many messages were forgotten between the place and what was read.
    var missed: Int
    /// Whether nothing followed when it was read.
    var isAtEnd: Bool
}

extension LogPage {
    /// What the page says to a subscriber that has read up to `place`.
    func stretch<Value: Sendable>(
        from place: LogPlace, decode: (LogRecord) -> Result<Value, PenstockError>
    ) -> LogStretch<Value> {
        // Where the page has been counted, what lies between the place and its beginning is known.
        let begin = max(place.ordinal, count.map { accepted - $0 } ?? place.ordinal)
        let items = records.enumerated().map { index, record in
            LogItem(
                sequence: record.sequence, ordinal: begin + index + 1, bytes: record.payload.count,
                value: decode(record))
        }
        let last = records.last?.sequence ?? place.sequence
        return LogStretch(
            items: items,
            reach: LogPlace(sequence: isAtEnd ? max(last, end) : last, ordinal: begin + items.count),
            missed: begin - place.ordinal, isAtEnd: isAtEnd)
    }
}
