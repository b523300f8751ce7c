import Penstock
import PenstockFormats

/// What a copy would do, found out by reading both stores.
struct CopyForecast {
    let source: StoreFile
    let target: StoreFile
    let withLog: Bool

    @MainActor func show(_ options: OutputOptions) async throws {
        let there = try await source.look { try await $0.queues() }
        let names = try await namesInTarget()
        let leased = there.reduce(0) { $0 + $1.depths.leased }
        let clash = there.map(\.name).first { names?.contains($0) == true }
        let counts = there.map { queue -> CopyReport.Queue in
            let depths = queue.depths
            var counts: [MessageState: Int] = [
                .pending: depths.pending, .scheduled: depths.scheduled, .blocked: depths.blocked, .ready: depths.ready,
                .leased: depths.leased, .dead: depths.dead,
            ]
            if withLog { counts[.done] = depths.kept }
            return CopyReport.Queue(name: queue.name, counts: counts.filter { $0.value > 0 })
        }
        let total = counts.reduce(0) { $0 + $1.total }
        let output = Output()
        if options.isJSON {
            try output.line(
                .object([
                    "source": .string(source.title), "target": .string(target.title), "wouldCopy": .integer(total),
                    "leased": .integer(leased), "queues": CopyText.json(counts),
                ]))
        } else {
            try output.table(CopyText.table(counts))
            try output.line(
                "\(CountText.format(total, "message")) would be copied\(note(leased, isNew: names == nil)).")
        }
        try output.flush()
        if let clash {
            throw Failure(
                .cannotCreate,
                "\(target.shown) has a queue called '\(clash)' of its own, and nothing would be copied; remove it there, or copy into another store."
            )
        }
    }

    private func note(_ leased: Int, isNew: Bool) -> String {
        var note = isNew ? " into a new store, with the numbers that they have" : ""
        if leased > 0 {
            note +=
                ", once \(leased == 1 ? "the one that a worker has is" : "the \(leased) that workers have are") back"
        }
        return note
    }

    /// The queues of the target; `nil`: it is to be made. Those of an unfinished copy are not its own.
    @MainActor private func namesInTarget() async throws -> Set<QueueName>? {
        guard target.exists else { return nil }
        do {
            return try await target.look { store in Set(try await store.queues().filter { !$0.isDeleting }.map(\.name))
            }
        } catch let error as PenstockError where error.code == .notFound {
            return nil
        }
    }
}
