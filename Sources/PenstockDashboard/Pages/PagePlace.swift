import PenstockCore
import PenstockHTTP

/// Where a page lies in a list that shows the newest first, as it stands in the page's address.
struct PagePlace {
    static let names: Set<String> = ["preceding", "after"]

    /// Only what comes after this one.
    let after: Int64?
    /// Only what comes before this one.
    let preceding: Int64?

    init(_ query: QueryParameters) throws(Problem) {
        after = try query.sequence("after")?.rawValue
        preceding = try query.sequence("preceding")?.rawValue
    }

    /// The end at which the page is looked for. A page that was found from its old end goes on to newer ones, and the other way round.
    var end: MessageQuery.End { after == nil ? .last : .first }

    /// Whether it is the page that changes while somebody looks.
    var isNewest: Bool { preceding == nil && after == nil }

    /// What a page shows, of `found`: one more than it may show, if there are more.
    func shown<Row>(of found: [Row], _ countMax: Int) -> ArraySlice<Row> {
        end == .last ? found.suffix(countMax) : found.prefix(countMax)
    }

    /// What a page shows of a queue's log, oldest first.
    ///
    /// - Returns: the page that was read, what is shown of it, and whether there is more at the far end.
    func log(
        of queue: QueueName, in store: any MessageStore, count: Int
    ) async throws -> (page: LogPage, shown: ArraySlice<LogRecord>, isMore: Bool) {
        // One more than is shown tells whether there are others.
        let page: LogPage
        let isCut: Bool
        if let after {
            page = try await store.log(LogQuery(queue: queue, .after(SequenceNumber(after)), limit: count + 1))
            isCut = !page.isAtEnd
        } else {
            let preceding = preceding.map { SequenceNumber($0) }
            (page, isCut) = try await store.logEnd(of: queue, preceding: preceding, count: count + 1)
        }
        let shown = shown(of: page.records, count)
        return (page, shown, isCut || shown.count < page.records.count)
    }

    /// The links to the pages beside one that shows the rows with these numbers.
    ///
    /// - Parameter isMore: whether there are more at the far end.
    func links(
        _ numbers: [Int64], isMore: Bool, _ link: (KeyValuePairs<String, String?>) -> String
    ) -> Fields {
        let (first, last) = (numbers.first, numbers.last)
        return links(first: first, last: last, next: isMore ? (end == .last ? first : last) : nil, link)
    }

    /// The links to the pages beside it.
    ///
    /// - Parameters:
    ///   - first: the oldest one that the page shows.
    ///   - last: the newest one.
    ///   - next: where to go on at the far end, if there is more.
    ///   - link: the page with these parameters.
    private func links(
        first: Int64?, last: Int64?, next: Int64?, _ link: (KeyValuePairs<String, String?>) -> String
    ) -> Fields {
        // A visitor may ask for any number, the largest one included.
        let older = after == nil ? next : after == 0 ? nil : first ?? after.map { min($0, .max - 1) + 1 }
        let newer = after == nil ? (preceding == nil ? nil : last ?? preceding.map { max($0, 1) - 1 }) : next
        var fields: Fields = [:]
        if let older { fields["older"] = link(["preceding": "\(older)"]) }
        if let newer { fields["newer"] = link(["after": "\(newer)"]) }
        if !isNewest { fields["newest"] = link([:]) }
        return fields
    }

    /// The links to the pages beside a page of messages.
    func links(of page: MessagePage, _ link: (KeyValuePairs<String, String?>) -> String) -> Fields {
        links(
            first: page.records.first?.sequence.rawValue, last: page.records.last?.sequence.rawValue,
            next: page.next?.rawValue, link)
    }
}
