/// What rings at a bucket, for a store that asks for each ring on its own, as a client of a server does.
package enum Bell: UInt8, CaseIterable, Sendable {
    /// Whatever changes in a queue's log.
    case log
    /// There may be room in the line.
    case room
    /// There may be messages to claim.
    case work
    /// Those who work may be asked to end (``Notices``).
    case notice
}
