import Penstock
import PenstockFormats

/// What a copy would do, found out by reading both stores.
struct CopyForecast {
    let source: StoreFile
    let target: StoreFile
    let withLog: Bool

    @MainActor func show(_ options: OutputOptions) async throws {
        let (counts, start) = try await source.look { from in
            (try await from.copyForecast(withLog: withLog), try await lookAtTarget(from: from))
        }
        let (isNew, refusal) = start
        let leased = counts.reduce(0) { $0 + $1.counts[.leased, default: 0] }
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
                "\(CountText.format(total, "message")) would be copied\(note(leased, isNew: isNew)).")
        }
        try output.flush()
        if let refusal { throw Failure(.cannotCreate, "Nothing would be copied: \(refusal.message)") }
    }

    private func note(_ leased: Int, isNew: Bool) -> String {
        var note = isNew ? " into a new store, with the numbers that they have" : ""
        if leased > 0 {
            note +=
                ", once \(leased == 1 ? "the one that a worker has is" : "the \(leased) that workers have are") back"
        }
        return note
    }

    /// Whether the target is to be made, and what the copy would be refused for there.
    @MainActor private func lookAtTarget(
        from source: PenstockStore
    ) async throws -> (isNew: Bool, refusal: PenstockError?) {
        guard target.exists else { return (true, nil) }
        do {
            let copy = StoreCopy(source: self.source.title, target: target.title, withLog: withLog)
            try await target.look { into in try await source.refuseCopy(into: into, copy) }
            return (false, nil)
        } catch let error as PenstockError where error.code == .queueExists {
            return (false, error)
        } catch let error as PenstockError where error.code == .notFound {
            return (true, nil)
        }
    }
}
