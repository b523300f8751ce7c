import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/messages`: the messages of the log that pass a filter, which stands in the page's address.
struct MessagesPage {
    private static let rowCountMax = 50
    /// Messages that one page looks at to find those: with the bound on payload bytes, what a store looks at in a fraction of a second.
    private static let lookCountMax = 20_000

    func add(to routes: Routes) {
        routes.get("/messages", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let query = try visit.query(MessageSearch.names.union(PagePlace.names))
        let search = try MessageSearch(query, now: visit.now)
        // Of a store of which a visitor may see a part, messages are found by their queue.
        if search.queue == nil, !visit.mayRead(nil) {
            let fields = Self.fields(search).merging(["needsQueue": true]) { $1 }
            return visit.page("messages", "Messages", in: .messages, fields)
        }
        if let queue = search.queue { try visit.principal.require(.read, queue) }
        let place = try PagePlace(query)
        var question = search.query
        question.limit = Self.rowCountMax
        question.lookMax = Self.lookCountMax
        question.after = place.after.map { SequenceNumber($0) }
        question.preceding = place.preceding.map { SequenceNumber($0) }
        question.end = place.end
        let page = try await visit.site.store.storage.messages(question)
        var fields = Self.fields(search)
        fields["rows"] = page.records.reversed().map { Self.row($0, visit.now) }
        fields["hasRows"] = !page.records.isEmpty
        fields.merge(place.links(of: page, search.link)) { $1 }
        if page.next != nil, page.records.count < Self.rowCountMax {
            fields["looked"] = Shown.count(Self.lookCountMax)
        }
        let following: Freshness = place.isNewest ? search.queue.map { .queue($0) } ?? .all : .still
        return visit.page("messages", "Messages", in: .messages, following: following, fields)
    }

    private static func row(_ record: MessageRecord, _ now: Timestamp) -> Fields {
        var fields: Fields = [
            "sequence": "\(record.sequence)", "link": Link.message(record.sequence), "queue": record.queue.text,
            "queueLink": Link.queue(record.queue), "state": Shown.state(record.state),
            "attempt": "\(record.attempt) of \(record.attemptsMax)", "time": Shown.time(record.enqueuedAt, now),
            "bytes": Shown.bytes(record.payloadBytes), "key": record.uniqueKey ?? "", "group": record.group ?? "",
        ]
        if let reason = record.reason { fields["reason"] = reason.rawValue }
        if let due = record.due { fields["due"] = Shown.time(due, now) }
        return fields
    }

    private static func fields(_ search: MessageSearch) -> Fields {
        [
            "search": search.fields,
            "states": MessageState.allCases.map {
                ["word": $0.rawValue, "isChosen": search.state == $0] as Fields
            },
        ]
    }
}
