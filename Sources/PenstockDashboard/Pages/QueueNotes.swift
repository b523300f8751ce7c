import PenstockCore

/// What is worth knowing of a queue at a look, in a few words.
enum QueueNotes {
    static func notes(_ queue: QueueStatus, workerCount: Int) -> [Fields] {
        var notes: [Fields] = []
        if queue.isDeleting { notes.append(["text": "being deleted, or copied here", "isBad": true]) }
        if queue.isPaused { notes.append(["text": "paused"]) }
        if queue.depths.ready > 0, queue.depths.leased == 0, !queue.isPaused, workerCount == 0 {
            notes.append(["text": "waiting, no worker", "isBad": true])
        }
        if let capacity = queue.policy.capacity, queue.depths.waiting >= capacity.count {
            notes.append(["text": "full", "isBad": true])
        }
        return notes
    }
}
