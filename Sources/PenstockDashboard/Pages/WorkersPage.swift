import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/workers`: the processes that work, and what each has in hand since when.
struct WorkersPage {
    /// Messages with workers that the page shows.
    private static let leaseCountMax = 500

    func add(to routes: Routes) {
        routes.get("/workers", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let storage = visit.site.store.storage
        let status = try await storage.status(of: nil)
        let records = try await storage.messages(
            MessageQuery(states: [.leased], end: .first, limit: Self.leaseCountMax))
        let names = Dictionary(status.workers.map { ($0.id, $0.name) }) { first, _ in first }
        let held = records.filter { visit.mayRead($0.queue) }.sorted {
            ($0.claimedAt?.microseconds ?? 0, $0.sequence) < ($1.claimedAt?.microseconds ?? 0, $1.sequence)
        }
        let fields: Fields = [
            "workers": status.workers.map { worker($0, visit.now) }, "hasWorkers": !status.workers.isEmpty,
            "held": held.map { lease($0, names, visit.now) }, "hasHeld": !held.isEmpty,
            "isCut": records.count == Self.leaseCountMax, "countMax": Self.leaseCountMax,
        ]
        return visit.page("workers", "Workers", in: .workers, following: .all, fields)
    }

    private func worker(_ worker: WorkerRecord, _ now: Timestamp) -> Fields {
        var fields: Fields = [
            "id": "\(worker.id)", "name": worker.name, "process": worker.processID.map { "\($0)" } ?? "remote",
            "isAlive": worker.isAlive, "leased": Shown.count(worker.leased),
            "started": Shown.time(worker.startedAt, now) ?? [:],
        ]
        if let oldest = worker.oldestClaim { fields["oldest"] = Shown.time(oldest, now) }
        return fields
    }

    private func lease(_ record: MessageRecord, _ names: [Int64: String], _ now: Timestamp) -> Fields {
        var fields: Fields = [
            "sequence": "\(record.sequence)", "link": Link.message(record.sequence), "queue": record.queue.text,
            "queueLink": Link.queue(record.queue), "attempt": "\(record.attempt) of \(record.attemptsMax)",
            "worker": record.worker.map { names[$0] ?? "\($0)" } ?? "", "isAskedToEnd": record.cancelRequestedAt != nil,
        ]
        if let since = record.claimedAt { fields["since"] = Shown.time(since, now) }
        if let progress = record.progress {
            let percent = progress.progress.fraction.map { "\(Int(($0 * 100).rounded())) % " } ?? ""
            fields["progress"] = percent + progress.progress.text
        }
        return fields
    }
}
