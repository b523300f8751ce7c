package import PenstockCore

extension Principal {
    /// What he may know of why a message waits that he may read. Tasks in queues that he may not read are left out, as more that
    /// there are, and of a limit that queues share he learns that it is used up, and not how far beyond.
    package func told(_ reason: WaitReason, by store: any MessageStore) async throws -> WaitReason {
        if may(.read, nil) { return reason }
        let tasks = reason.causes.compactMap { if case .task(let other) = $0 { other.sequence } else { nil } }
        var readable: Set<SequenceNumber> = []
        if !tasks.isEmpty {
            let found = try await store.messages(MessageQuery(sequences: tasks, limit: tasks.count)).records
            readable = Set(found.filter { may(.read, $0.queue) }.map(\.sequence))
        }
        var told = reason
        told.causes = reason.causes.compactMap { cause in
            switch cause {
            case .task(let other): readable.contains(other.sequence) ? cause : nil
            case .sharedLimit(let name, let count, let leased): .sharedLimit(name, count, leased: min(count, leased))
            default: cause
            }
        }
        if told.causes.count < reason.causes.count, !told.causes.contains(.moreTasks) {
            told.causes.append(.moreTasks)
        }
        return told
    }
}
