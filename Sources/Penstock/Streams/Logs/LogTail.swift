internal import PenstockCore

/// The end of a log in memory, which all subscribers of a process share. It holds so many values at most, and a
/// subscriber that falls behind them reads the log itself.
struct LogTail<Value: Sendable>: Sendable {
    typealias Item = LogItem<Value>

    /// Values beyond this number go, oldest first.
    var countMax: Int
    /// Values go as well when they hold more memory than this, about, but for the last one.
    let bytesMax: Int
    /// The place before the first value.
    private(set) var base: LogPlace
    /// The place behind the last one.
    private(set) var reach: LogPlace
    private var bytes = 0
    /// Values up to `first` are gone; they are removed many at a time.
    private var items: [Item] = []
    private var first = 0

    init(at place: LogPlace, countMax: Int = 1024, bytesMax: Int = 8 * 1024 * 1024) {
        self.countMax = countMax
        self.bytesMax = bytesMax
        base = place
        reach = place
    }

    var count: Int { items.count - first }

    /// Adds what was read behind the last value.
    mutating func extend(_ new: [Item], reach: LogPlace) {
        items += new
        bytes += new.reduce(0) { $0 + $1.bytes }
        self.reach = reach
        trim(to: countMax)
    }

    /// Lets go of all but the last `count` values.
    mutating func trim(to count: Int) {
        while self.count > count || bytes > bytesMax && self.count > 1 {
            base = LogPlace(sequence: items[first].sequence, ordinal: items[first].ordinal)
            bytes -= items[first].bytes
            first += 1
        }
        if first > 0, first >= self.count {
            items.removeFirst(first)
            first = 0
        }
    }

    /// The first values behind `sequence`, up to `limit` of them.
    func items(after sequence: SequenceNumber, limit: Int) -> [Item] {
        guard sequence < reach.sequence else { return [] }
        var low = first
        var high = items.count
        while low < high {
            let middle = (low + high) / 2
            if items[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
        }
        return Array(items[low..<min(items.count, low + min(limit, items.count))])
    }
}
