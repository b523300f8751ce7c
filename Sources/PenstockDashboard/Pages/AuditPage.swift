import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/audit`: what visitors did by these pages.
struct AuditPage {
    /// Entries of the log that a page reads. An act has two, what was asked for and what came of it.
    private static let recordCountMax = 400
    /// What is said of an act that nobody has written an outcome of.
    private static let noOutcome = "not on record: under way, or the server ended meanwhile"

    func add(to routes: Routes) {
        routes.get("/audit", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, Audit.queue)
        let place = try PagePlace(try visit.query(PagePlace.names))
        let store = visit.site.store.storage
        var (shown, isMore): (ArraySlice<LogRecord>, Bool) = ([], false)
        var entries: [AuditEntry] = []
        do {
            (_, shown, isMore) = try await place.log(of: Audit.queue, in: store, count: Self.recordCountMax)
            entries = AuditEntry.read(Array(shown), followedBy: try await outcomes(of: shown, place, in: store))
        } catch let error as PenstockError where error.code == .unknownQueue {
            // Nobody has done anything yet.
        }
        var fields: Fields = [
            "queue": Audit.queue.text, "logLink": "\(Link.queue(Audit.queue))/log", "hasEntries": !entries.isEmpty,
            "isNewest": place.isNewest,
            "entries": entries.map { entry -> Fields in
                [
                    "time": Shown.time(entry.at, visit.now) ?? [:], "by": entry.by, "act": entry.act,
                    "on": entry.subject,
                    "queue": entry.queue ?? "", "outcome": entry.outcome ?? Self.noOutcome,
                    "isDone": entry.isDone == true, "isBad": entry.isDone == false,
                ]
            },
        ]
        fields.merge(
            place.links(shown.map(\.sequence.rawValue), isMore: isMore) { Link.page("/audit", $0) }
        ) { $1 }
        return visit.page(
            "audit", "Audit", in: .audit, following: place.isNewest ? .queue(Audit.queue) : .still, fields)
    }

    /// What follows a page of the log: what came of the page's last acts may be written there.
    private func outcomes(
        of shown: ArraySlice<LogRecord>, _ place: PagePlace, in store: any MessageStore
    ) async throws -> [LogRecord] {
        guard !place.isNewest, let last = shown.last else { return [] }
        let query = LogQuery(queue: Audit.queue, .after(last.sequence), limit: Self.recordCountMax)
        return try await store.log(query).records
    }
}
