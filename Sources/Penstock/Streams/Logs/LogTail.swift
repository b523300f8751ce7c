internal import PenstockCore

/// The end of a log in memory, which all subscribers of a process share. It holds so many values at most, and a
/// subscriber that falls behind them reads the log itself.
struct LogTail<Value: Sendable>: Sendable {
    typealias Item = LogItem<Value>

    /// Pages that nobody needs any more. They go when no lock is held: the end of a value may use the log.
    struct Spent: Sendable {
        // Mostly there is one.
        private var first: [Item] = []
        private var rest: [[Item]] = []

        fileprivate mutating func add(_ page: [Item]) {
            if first.isEmpty { first = page } else { rest.append(page) }
        }
    }

    /// Values beyond this number go, oldest first.
    var countMax: Int
    /// Values go as well when they hold more memory than this, about, but for the last one.
    let bytesMax: Int
    /// The place before the first value.
    private(set) var base: LogPlace
    /// The place behind the last one.
    private(set) var reach: LogPlace
    private(set) var count = 0
    private var bytes = 0
    /// Values as they came, many at a time, so that subscribers share what was read at once. None of these is empty. The
    /// first page is in memory as long as one of its values is.
    private var pages: [[Item]] = []
    /// Pages up to `firstPage` are gone, and of that one what is before `first`. Pages are removed many at a time.
    private var firstPage = 0
    private var first = 0
    private var spent = Spent()

    init(at place: LogPlace, countMax: Int = 1024, bytesMax: Int = 8 * 1024 * 1024) {
        self.countMax = countMax
        self.bytesMax = bytesMax
        base = place
        reach = place
    }

    /// Adds what was read behind the last value.
    mutating func extend(_ new: [Item], reach: LogPlace) {
        self.reach = reach
        if new.isEmpty { return }
        pages.append(new)
        count += new.count
        bytes += new.reduce(0) { $0 + $1.bytes }
        trim(to: countMax)
    }

    /// Lets go of all but the last `count` values.
    mutating func trim(to count: Int) {
        while self.count > count || bytes > bytesMax && self.count > 1 {
            base = pages[firstPage][first].place
            bytes -= pages[firstPage][first].bytes
            self.count -= 1
            first += 1
            if first == pages[firstPage].count {
                spent.add(pages[firstPage])
                pages[firstPage] = []
                firstPage += 1
                first = 0
            }
        }
        if firstPage > 0, firstPage * 2 >= pages.count {
            pages.removeFirst(firstPage)
            firstPage = 0
        }
    }

    /// The pages of values that went since this was called last.
    mutating func takeSpent() -> Spent {
        defer { spent = Spent() }
        return spent
    }

    /// The first values behind `sequence`, up to `limit` of them.
    func items(after sequence: SequenceNumber, limit: Int) -> [Item] {
        var items: [Item] = []
        var page = page(after: sequence)
        while items.count < limit, page < pages.count {
            items += slice(of: page, after: sequence).prefix(limit - items.count)
            page += 1
        }
        return items
    }

    /// Some of the first values behind `sequence`, up to `limit` of them; none only where there are none. Values that were read
    /// together are given as they are: all subscribers that keep up hold one copy.
    func portion(after sequence: SequenceNumber, limit: Int) -> ArraySlice<Item> {
        let page = page(after: sequence)
        guard page < pages.count else { return [] }
        let slice = slice(of: page, after: sequence)
        let isEnough = page + 1 == pages.count || slice.count >= min(limit, Self.sharedCountMin)
        return isEnough ? slice.prefix(limit) : items(after: sequence, limit: limit)[...]
    }

    /// Fewer than these of one page are copied together with those of the next ones.
    private static var sharedCountMin: Int { 32 }

    /// The first page with values behind `sequence`.
    private func page(after sequence: SequenceNumber) -> Int {
        if sequence >= reach.sequence { return pages.count }
        return Self.partition(firstPage..<pages.count) { pages[$0].last.map { $0.sequence <= sequence } ?? true }
    }

    private func slice(of page: Int, after sequence: SequenceNumber) -> ArraySlice<Item> {
        let items = pages[page]
        return items[
            Self.partition((page == firstPage ? first : 0)..<items.count) { items[$0].sequence <= sequence }...]
    }

    /// The first of `range` for which `isBefore` does not hold.
    private static func partition(_ range: Range<Int>, _ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
