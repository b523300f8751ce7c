import PenstockCore

// Of what stores answer, what two stores that live the same life must have in common.

extension MessageStore {
    /// What a message waits for, without the names of workers, which no two stores have in common.
    func waitCauses(of sequence: SequenceNumber) async throws -> String {
        func unnamed(_ other: WaitReason.Other) -> WaitReason.Other {
            var other = other
            other.holder = nil
            return other
        }
        let causes = try await waitReason(of: sequence).causes.filter { $0 != .noWorker }.map {
            cause -> WaitReason.Cause in
            switch cause {
            case .task(let other): .task(unnamed(other))
            case .permit(let other): .permit(unnamed(other))
            default: cause
            }
        }
        return "\(sequence) waits for \(causes)"
    }
}

extension Depths {
    /// How many messages there are, wherever they are.
    var all: Int { pending + scheduled + blocked + ready + leased + dead + kept }
}

extension MessageRecord {
    /// The record without the names of workers, which no two stores have in common.
    var comparable: MessageRecord {
        var record = self
        if worker != nil { record.worker = 0 }
        for index in record.attempts.indices where !record.attempts[index].worker.isEmpty {
            record.attempts[index].worker = "worker"
        }
        return record
    }
}
