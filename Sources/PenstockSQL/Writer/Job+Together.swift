import PenstockCore
import PenstockProcesses

extension [any Job] {
    /// Carries out what other processes have asked for, and then the jobs; enqueues of a few messages together.
    package func perform(
        with requests: inout [RemoteRequest], _ answers: any AnswerRows, in transaction: Transaction
    ) throws {
        let new = try requests.indices.filter { try !requests[$0].isKnown(to: answers, transaction.connection) }
        var left = new
        var calls = compactMap { job in job.remoteCall.map { (job: job, call: $0) } }
        // Whether a call is refused is for each to be told.
        if transaction.departure == nil {
            let together = try Enqueue.performTogether(
                left.map { requests[$0].calls.map(\.call) } + calls.map { [$0.call.call] }, in: transaction)
            for (index, receipts) in zip(left, together) {
                if let receipts { requests[index].accept(receipts) }
            }
            for (call, receipts) in zip(calls, together.dropFirst(left.count)) {
                if let receipts = receipts?.first { call.job.accept(receipts) }
            }
            left = zip(left, together).filter { $0.1 == nil }.map(\.0)
            calls = zip(calls, together.suffix(calls.count)).filter { $0.1 != nil }.map(\.0)
        } else {
            calls = []
        }
        for index in left { try requests[index].perform(in: transaction) }
        let done = Set(calls.map { ObjectIdentifier($0.job) })
        for job in self where !done.contains(ObjectIdentifier(job)) { try job.perform(in: transaction) }
        if new.isEmpty { return }
        let given = new.map { index in
            let taken = requests[index].taken
            return RequestAnswer(slot: taken.slot, ticket: taken.ticket, bytes: requests[index].answer)
        }
        try answers.write(given, transaction.connection)
    }
}
