internal import PenstockCore

/// Where a subscription begins.
struct LogBeginning: Sendable {
    /// Everything up to here is of no interest to it.
    var place: LogPlace
    /// What was read from there on, if anything was.
    var page: LogPage?
    /// The end of the log at that moment.
    var end: LogPlace

    /// At the beginning of a page that was asked for by the number of last messages.
    init(_ page: LogPage) {
        place = LogPlace(
            sequence: page.records.first.map { SequenceNumber($0.sequence.rawValue - 1) } ?? page.end,
            ordinal: page.accepted - (page.count ?? page.records.count))
        self.page = page
        end = LogPlace(sequence: page.end, ordinal: page.accepted)
    }

    /// Behind `cursor`, in a log that `page` shows the end of.
    init(behind cursor: CursorRecord, _ page: LogPage) {
        self.init(page)
        // How many were accepted before that place is not known, and told by the cursor itself.
        place = LogPlace(sequence: cursor.sequence, ordinal: 0)
        self.page = nil
    }

    /// At the end of a log that is nowhere but in memory.
    init(at end: LogPlace) {
        place = end
        self.end = end
        page = LogPage(
            records: [], count: 0, isAtEnd: true, end: end.sequence, accepted: end.ordinal, cursor: nil)
    }
}
