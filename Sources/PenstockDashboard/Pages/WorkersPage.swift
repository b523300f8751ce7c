import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP

/// `/workers`: the processes that work, and what each has in hand since when. To a visitor who may look at some queues it shows what
/// comes of those: their messages, and the workers that have them.
struct WorkersPage {
    /// Messages with workers that the page shows.
    private static let leaseCountMax = 500

    func add(to routes: Routes) {
        routes.get("/workers", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        _ = try visit.query([])
        let status = try await visit.site.store.storage.status(of: nil)
        // One more than is shown says whether there are more.
        let found =
            visit.mayRead(nil)
            ? try await Self.leased(nil, Self.leaseCountMax + 1, visit)
            : try await Self.leased(of: status.queues.filter { visit.mayRead($0.name) && $0.depths.leased > 0 }, visit)
        let held = found.prefix(Self.leaseCountMax).sorted {
            ($0.claimedAt?.microseconds ?? 0, $0.sequence) < ($1.claimedAt?.microseconds ?? 0, $1.sequence)
        }
        let names = Dictionary(status.workers.map { ($0.id, $0.name) }) { first, _ in first }
        let workers = visit.mayRead(nil) ? status.workers : Self.holders(of: held, status.workers)
        let fields: Fields = [
            "workers": workers.map { worker($0, visit.now) }, "hasWorkers": !workers.isEmpty,
            "held": held.map { lease($0, names, visit.now) }, "hasHeld": !held.isEmpty,
            "isCut": found.count > Self.leaseCountMax, "countMax": Self.leaseCountMax,
        ]
        return visit.page("workers", "Workers", in: .workers, following: .all, fields)
    }

    /// The first messages of a queue that workers have; `nil`: of all queues.
    private static func leased(_ queue: QueueName?, _ limit: Int, _ visit: Visit) async throws -> [MessageRecord] {
        var found: [MessageRecord] = []
        let query = MessageQuery(queue: queue, states: [.leased], limit: limit)
        try await visit.site.store.storage.eachPage(of: query) { found += $0.records }
        return found
    }

    /// The first messages of these queues that workers have. Each queue is asked by itself: among the messages of all queues those
    /// of a few might come too late.
    private static func leased(of queues: [QueueStatus], _ visit: Visit) async throws -> [MessageRecord] {
        var found: [MessageRecord] = []
        for queue in queues where found.count <= leaseCountMax {
            do {
                found += try await leased(queue.name, leaseCountMax + 1 - found.count, visit)
            } catch let error as PenstockError where error.code == .unknownQueue {
                // It was deleted since its numbers were read.
            }
        }
        return found
    }

    /// The workers that have these messages, and of what they have only these.
    private static func holders(of held: [MessageRecord], _ workers: [WorkerRecord]) -> [WorkerRecord] {
        let byWorker = Dictionary(grouping: held) { $0.worker }
        return workers.compactMap { worker in
            guard let own = byWorker[worker.id] else { return nil }
            var worker = worker
            worker.leased = own.count
            worker.oldestClaim = own.compactMap(\.claimedAt).min()
            return worker
        }
    }

    private func worker(_ worker: WorkerRecord, _ now: Timestamp) -> Fields {
        var fields: Fields = [
            "id": "\(worker.id)", "name": worker.name, "process": worker.processID.map { "\($0)" } ?? "remote",
            "isAlive": worker.isAlive == true, "isDead": worker.isAlive == false, "leased": Shown.count(worker.leased),
            "started": Shown.time(worker.startedAt, now),
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
        if let end = record.leaseEndsAt { fields["leaseEnd"] = Shown.time(end, now) }
        if let progress = record.progress { fields["progress"] = Shown.progress(progress.progress) }
        return fields
    }
}
