package import PenstockCore

extension Depths {
    /// Each depth with the word for it.
    package static let states: [(word: String, number: any WritableKeyPath<Depths, Int> & Sendable)] = [
        ("pending", \.pending), ("scheduled", \.scheduled), ("blocked", \.blocked), ("ready", \.ready),
        ("leased", \.leased), ("dead", \.dead), ("kept", \.kept),
    ]
}

extension Totals {
    /// Each total with the word for it, and what it counts.
    package static let events: [(word: String, number: any WritableKeyPath<Totals, Int> & Sendable, help: String)] = [
        ("enqueued", \.enqueued, "Messages accepted into the log, dropped arrivals included."),
        ("done", \.done, "Messages that finished well."),
        ("dead", \.dead, "Times that a message became a dead letter."),
        ("dropped", \.dropped, "Messages that an overflow policy discarded, or that had expired."),
        ("cancelled", \.cancelled, "Times that a message was cancelled, replaced or, as a dead letter, discarded."),
        ("retried", \.retried, "Failed attempts that another one follows."),
        ("reclaimed", \.reclaimed, "Times that a message was taken back from a dead worker or an ended lease."),
    ]
}
