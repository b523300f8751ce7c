import PenstockCore
import PenstockFormats
import PenstockHTTP

/// Which messages somebody looks for, as it stands in a page's address.
struct MessageSearch {
    static let names: Set<String> = ["queue", "state", "group", "key", "header", "text", "error", "since", "before"]

    private(set) var queue: QueueName?
    private(set) var state: MessageState?
    private(set) var query: MessageQuery
    /// What was typed, by the field's name.
    private let typed: [(String, String?)]

    init(_ fields: QueryParameters, now: Timestamp) throws(Problem) {
        queue = try fields.name("queue")
        state = try fields.choice("state", MessageState.self)
        typed = Self.names.sorted().map { ($0, fields.text($0)) }
        var filter = MessageFilter()
        filter.uniqueKey = fields.text("key")
        filter.payloadContains = fields.text("text")
        filter.errorContains = fields.text("error")
        if let header = fields.text("header") {
            let parts = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else { throw Problem.invalid("Write a header to look for as name=value.") }
            filter.headers = [parts[0]: parts[1]]
        }
        query = MessageQuery(
            queue: queue, group: fields.text("group"), matching: filter, states: state.map { [$0] },
            since: try fields.time("since", now: now), before: try fields.time("before", now: now), end: .last)
        do { try query.validate() } catch { throw Problem(error) }
    }

    /// The page with what was typed, and more.
    func link(_ more: KeyValuePairs<String, String?>) -> String {
        Link.page("/messages", typed + more.map { ($0.key, $0.value) })
    }

    /// What was typed, for the fields of the form.
    var fields: Fields { Fields(uniqueKeysWithValues: typed.map { ($0.0, $0.1 ?? "") }) }
}
