import PenstockCore
import PenstockProcesses

extension [any Job] {
    /// Carries out what other processes have asked for, and then the jobs; enqueues of a few messages together.
    package func perform(
        with requests: inout [PostedRequest], _ answers: any AnswerRows, in transaction: Transaction
    ) throws {
        let new = try requests.indices.filter { try !requests[$0].isKnown(to: answers, transaction.connection) }
        var left = new
        var done: Set<ObjectIdentifier> = []
        // Whether a call is refused is for each to be told.
        if transaction.departure == nil {
            let callers = compactMap { job in job.postedCall.map { (job: job, call: $0.call) } }
            let receipts = try Enqueue.performTogether(
                new.map { requests[$0].calls.map(\.call) } + callers.map { [$0.call] }, in: transaction)
            left = []
            for (index, given) in zip(new, receipts) {
                if let given { requests[index].accept(given) } else { left.append(index) }
            }
            for (caller, given) in zip(callers, receipts.dropFirst(new.count)) {
                guard let given = given?.first else { continue }
                caller.job.accept(given)
                done.insert(ObjectIdentifier(caller.job))
            }
        }
        for index in left { try requests[index].perform(in: transaction) }
        for job in self where !done.contains(ObjectIdentifier(job)) { try job.perform(in: transaction) }
        if new.isEmpty { return }
        let given = new.map { index in
            let taken = requests[index].taken
            return RequestAnswer(slot: taken.slot, ticket: taken.ticket, bytes: requests[index].answer)
        }
        try answers.write(given, transaction.connection)
    }
}
