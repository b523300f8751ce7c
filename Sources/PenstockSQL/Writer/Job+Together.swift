import PenstockCore

extension [any Job] {
    /// Carries out all of them, enqueues of a few messages together.
    package func perform(in transaction: Transaction) throws {
        let calls = compactMap { job in job.remoteCall.map { (job: job, call: $0) } }
        var isDone: Set<ObjectIdentifier> = []
        if calls.count > 1, transaction.departure == nil {
            for (call, receipts) in zip(calls, try Enqueue.performTogether(calls.map { [$0.call] }, in: transaction)) {
                guard let receipts = receipts?.first else { continue }
                call.job.accept(receipts)
                isDone.insert(ObjectIdentifier(call.job))
            }
        }
        for job in self where !isDone.contains(ObjectIdentifier(job)) { try job.perform(in: transaction) }
    }
}
