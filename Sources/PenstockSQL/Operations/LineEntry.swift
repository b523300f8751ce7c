package import PenstockCore

/// Where a message is, with everything that moves along with it.
package struct LineEntry {
    package var sequence: Int64
    package var account: QueueAccount
    package var state: MessageState
    package var priority: Int64
    package var attempt: Int64
    package var forgiven: Int64
    /// What is to be seen to when it moves. Of one that has ended they are found anew when it comes back.
    package var marks: Marks
    /// Why it has ended, where the state alone does not say.
    package var reason: StateReason?
    /// Set while it is leased.
    package var lease: HeldLease?

    /// Whether it waits for other messages, or was cancelled as it waited in vain: a redrive of those brings it back.
    package var waitsForOthers: Bool { state == .pending || state == .cancelled && reason == .parentFailed }

    package struct HeldLease {
        var token: Int64
        var workerID: Int64
        var claimedAt: Int64
    }
}
