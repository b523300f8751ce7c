import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/audit`: what visitors did by these pages.
struct AuditPage {
    /// Entries of the log that a page reads. An act has two, what was asked for and what came of it.
    private static let recordCountMax = 400

    func add(to routes: Routes) {
        routes.get("/audit", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, Audit.queue)
        _ = try visit.query([])
        var entries: [AuditEntry] = []
        do {
            let (page, _) = try await visit.site.store.storage.logEnd(of: Audit.queue, count: Self.recordCountMax)
            entries = AuditEntry.read(page.records)
        } catch let error as PenstockError where error.code == .unknownQueue {
            // Nobody has done anything yet.
        }
        let fields: Fields = [
            "queue": Audit.queue.text, "logLink": "\(Link.queue(Audit.queue))/log", "hasEntries": !entries.isEmpty,
            "entries": entries.map { entry -> Fields in
                [
                    "time": Shown.time(entry.at, visit.now) ?? [:], "by": entry.by, "act": entry.act,
                    "on": entry.subject,
                    "queue": entry.queue ?? "", "outcome": entry.outcome ?? "not known: the server ended meanwhile",
                    "isDone": entry.isDone == true, "isBad": entry.isDone != true,
                ]
            },
        ]
        return visit.page("audit", "Audit", in: .audit, following: .queue(Audit.queue), fields)
    }
}
