import Penstock
import PenstockFormats

/// What became of the lines so far.
struct EnqueueTally: Equatable, Sendable {
    /// Lines that the queue has answered for.
    var lines = 0
    /// Of these, how many were put in line.
    var enqueued = 0
    var dropped = 0
    /// Older messages that made place for these.
    var displaced = 0
    var first: SequenceNumber?
    var last: SequenceNumber?

    mutating func add(_ receipts: [Receipt]) {
        lines += receipts.count
        for receipt in receipts {
            if receipt.state == .dropped { dropped += 1 } else { enqueued += 1 }
            if receipt.displaced != nil { displaced += 1 }
            first = first ?? receipt.sequence
            last = receipt.sequence
        }
    }

    var sentence: String {
        var text = "\(CountText.format(enqueued, "message")) enqueued"
        if let first, let last { text += first == last ? " (\(first))" : " (\(first) to \(last))" }
        if dropped > 0 { text += ", \(dropped) dropped" }
        if displaced > 0 { text += ", \(displaced) older ones dropped" }
        return text + "."
    }

    func json(queue: QueueName) -> JSONValue {
        .object([
            "queue": .string(queue.text),
            "lines": .integer(lines),
            "enqueued": .integer(enqueued),
            "dropped": .integer(dropped),
            "displaced": .integer(displaced),
            "first": .optional(first) { .integer($0.rawValue) },
            "last": .optional(last) { .integer($0.rawValue) },
        ])
    }
}
