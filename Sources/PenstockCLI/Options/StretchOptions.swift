import ArgumentParser
import Penstock

/// Which stretch of a log.
struct StretchOptions: ParsableArguments {
    @Option(help: .init("From this message on.", valueName: "sequence"), transform: Values.sequence)
    var from: SequenceNumber?

    @Option(
        parsing: .unconditional,
        help: .init("Only messages accepted at this time or later.", valueName: "time"), transform: Values.time)
    var since: Timestamp?

    @Option(help: .init("Only the last ones, this many.", valueName: "count"))
    var last: Int?

    @Option(
        help: .init("Only messages in these states, with commas between them.", valueName: "states"),
        completion: .list(MessageState.allCases.map(\.rawValue)), transform: Values.states)
    var state: Set<MessageState>?

    func validate() throws { try Bounds.check(last, 1...Limits.rowsMax, "--last") }

    /// Asks for the stretch of `queue`.
    ///
    /// - Parameters:
    ///   - states: unless the options name some.
    ///   - limit: unless the options say how many.
    func query(of queue: QueueName?, states: Set<MessageState>, limit: Int) -> MessageQuery {
        MessageQuery(
            queue: queue, states: state ?? states, after: from.map { SequenceNumber($0.rawValue - 1) }, since: since,
            end: last == nil ? .first : .last, limit: last ?? limit)
    }

    var isEmpty: Bool { from == nil && since == nil && last == nil && state == nil }
}
