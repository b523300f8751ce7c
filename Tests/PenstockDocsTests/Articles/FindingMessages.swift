import Penstock

// Finding messages.

struct FindingMessagesArticle {
    // shown
    /// The newest messages whose last error has `text` in it, and a place to go on from; of 100,000 messages at most.
    func failures(
        with text: String, in store: PenstockStore, preceding place: SequenceNumber? = nil
    ) async throws -> MessagePage {
        let filter = MessageFilter(errorContains: text)
        return try await store.list(
            MessageQuery(matching: filter, preceding: place, end: .last, limit: 50, withAttempts: true))
    }
    // end

    // shown
    /// Redrives the dead letters of a group, if there are no more of them than somebody has seen.
    func redrive(_ group: DeadGroup, in store: PenstockStore) async throws -> Int {
        let filter = MessageFilter(signature: group.signature)
        return try await store.redrive(
            .queue(group.queue, states: [.dead], matching: filter, expected: group.count))
    }
    // end
}
