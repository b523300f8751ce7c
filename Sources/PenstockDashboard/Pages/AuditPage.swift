import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/audit`: what visitors did by these pages.
struct AuditPage {
    /// Entries of the log that a page reads. An act has two, what was asked for and what came of it.
    private static let recordCountMax = 400
    /// Records behind a page that are looked through for what came of its acts.
    private static let lookMax = 20_000
    /// What is said of an act that nobody has written an outcome of.
    private static let noOutcome = "not on record: under way, or the server ended meanwhile"
    /// What is said of one when not all was looked through.
    private static let farOutcome = "not among the \(lookMax) entries behind the page: look in the log"

    func add(to routes: Routes) {
        routes.get("/audit", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, Audit.queue)
        let place = try PagePlace(try visit.query(PagePlace.names))
        let store = visit.site.store.storage
        var (shown, isMore): (ArraySlice<LogRecord>, Bool) = ([], false)
        var (entries, isWhole): ([AuditEntry], Bool) = ([], true)
        var hasLog = true
        do {
            (_, shown, isMore) = try await place.log(of: Audit.queue, in: store, count: Self.recordCountMax)
            entries = AuditEntry.read(Array(shown))
            // Behind the newest page there was nothing.
            if !place.isNewest, let last = shown.last {
                isWhole = try await AuditEntry.complete(
                    &entries, after: last.sequence, in: store, lookMax: Self.lookMax)
            }
        } catch let error as PenstockError where error.code == .unknownQueue {
            // Nobody has done anything yet.
            hasLog = false
        }
        let noOutcome = isWhole ? Self.noOutcome : Self.farOutcome
        var fields: Fields = [
            "queue": Audit.queue.text, "logLink": "\(Link.queue(Audit.queue))/log", "hasLog": hasLog,
            "hasEntries": !entries.isEmpty, "isNewest": place.isNewest,
            "entries": entries.map { entry -> Fields in
                [
                    "time": Shown.time(entry.at, visit.now), "by": entry.by, "act": entry.act,
                    "on": entry.subject, "queue": entry.queue ?? "", "outcome": entry.outcome ?? noOutcome,
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
}
