package import PenstockCore

/// The queues that belong to this server's faces. A client that wrote into one would speak for the server.
package enum ReservedQueues {
    /// The log of what visitors of the dashboard do. A client may look at it, and move cursors of its own there; what else it
    /// would do could only forge entries, or have them gone.
    package static let audit = QueueName(stored: "penstock.audit")
}
