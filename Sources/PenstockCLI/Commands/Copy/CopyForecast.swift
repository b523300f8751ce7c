import Penstock
import PenstockFormats

/// What a copy would do, found out by reading both stores.
struct CopyForecast {
    let source: StoreFile
    let target: StoreFile
    let withLog: Bool

    @MainActor func show(_ options: OutputOptions) async throws {
        let counts = try await source.look { try await $0.copyForecast(withLog: withLog) }
        let names = try await namesInTarget()
        let leased = counts.reduce(0) { $0 + $1.counts[.leased, default: 0] }
        let clash = counts.map(\.name).first { names?.contains($0) == true }
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
