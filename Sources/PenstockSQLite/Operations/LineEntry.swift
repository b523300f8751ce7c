import PenstockCore

/// Where a message is, with everything that moves along with it.
struct LineEntry {
    var sequence: Int64
    var account: QueueAccount
    var state: MessageState
    var priority: Int64
    var attempt: Int64
    var forgiven: Int64
    /// What is to be seen to when it moves. Of one that has ended they are found anew when it comes back.
    var marks: Marks
    /// Why it has ended, where the state alone does not say.
    var reason: StateReason?
    /// Set while it is leased.
    var lease: HeldLease?

    /// Whether it waits for other messages, or was cancelled as it waited in vain: a redrive of those brings it back.
    var waitsForOthers: Bool { state == .pending || state == .cancelled && reason == .parentFailed }

    struct HeldLease {
        var token: Int64
        var workerID: Int64
        var claimedAt: Int64
    }
}
