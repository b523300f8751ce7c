/// What the holder of a token may do.
package enum Scope: String, CaseIterable, Sendable {
    /// Look at queues, messages, workers and logs.
    case read
    /// Enqueue messages.
    case produce
    /// Claim messages, settle them and extend their leases; move cursors.
    case consume
    /// Move messages by hand, and make, change, pause and remove queues.
    case operate

    /// What the scope lets its holder do, for a sentence.
    package var activity: String {
        switch self {
        case .read: "look at"
        case .produce: "enqueue into"
        case .consume: "work on"
        case .operate: "operate"
        }
    }
}
