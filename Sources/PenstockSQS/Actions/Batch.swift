import PenstockCore
import PenstockFormats

/// What a batch answers: each entry stands alone.
struct Batch {
    static let countMax = 10

    private var successful: [JSONValue] = []
    private var failed: [JSONValue] = []

    /// The entries of a batch, one to ten, by ids of their own.
    static func checked<Entry>(
        _ written: BatchEntries<Entry>?, _ id: KeyPath<Entry, String?>
    ) throws(Refusal) -> [(id: String, entry: Entry)] {
        guard let written, written.count > 0 else {
            throw Refusal("EmptyBatchRequest", "There should be at least one entry in the request.")
        }
        guard written.count <= countMax else {
            throw Refusal(
                "TooManyEntriesInBatchRequest",
                "Maximum number of entries per request are \(countMax). You have sent \(written.count).")
        }
        let entries = written.first.map { (id: $0[keyPath: id] ?? "", entry: $0) }
        var seen: Set<String> = []
        for (id, _) in entries {
            guard (1...80).contains(id.utf8.count),
                id.utf8.allSatisfy({ $0.isLetterOrDigit || "-_".utf8.contains($0) })
            else {
                throw Refusal(
                    "InvalidBatchEntryId",
                    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 "
                        + "letters long.")
            }
            guard seen.insert(id).inserted else { throw Refusal("BatchEntryIdsNotDistinct", "Id \(id) repeated.") }
        }
        return entries
    }

    mutating func succeed(_ id: String, _ members: [JSONValue.Member] = []) {
        successful.append(.object([.init(key: "Id", value: .string(id))] + members))
    }

    mutating func fail(_ id: String, _ refusal: Refusal) {
        failed.append(
            .object([
                "Id": .string(id), "Code": .string(refusal.code), "Message": .string(refusal.message),
                "SenderFault": .bool(refusal.isSendersFault),
            ]))
    }

    var json: JSONValue { .object(["Successful": .array(successful), "Failed": .array(failed)]) }
}
