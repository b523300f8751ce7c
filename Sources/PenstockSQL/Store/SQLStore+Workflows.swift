public import PenstockCore

/// The store as a keeper of workflows: messages that wait for each other, and what they leave behind.
extension SQLStore {
    /// Accepts the messages of a workflow, as ``MessageStore/start(_:durability:)`` says, in one transaction with what else is
    /// asked for.
    public func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow {
        try Task.checkCancellation()
        try workflow.validate(now: core.time.now)
        let started = try await core.writer.perform(durability: durability, weight: weight(of: workflow.tasks)) {
            try Workflows.start(workflow, durability: durability, in: $0)
        }
        if started.receipts.contains(where: { $0.state == .dropped && !$0.skipped }) { try await finishCascade() }
        return started
    }

    /// Cancels every task of a workflow that has not ended, as ``MessageStore/cancel(_:)`` says. A crash between two steps leaves
    /// the rest in `penstock_cascade`, and others go on with it.
    public func cancel(_ workflow: WorkflowName) async throws -> Int {
        let count = try await core.writer.perform(durability: .powerLoss, weight: Limits.cascadeCountMax) {
            try Workflows.cancel(workflow, in: $0)
        }
        if count > 0 { try await finishCascade() }
        return count
    }

    /// Goes on with what the end or the return of many tasks has left to be done, until nothing is left, in steps, each a
    /// transaction of its own. When nothing is left, this is one read.
    ///
    /// - Throws: `outcomeUnknown` when the store takes nothing for the moment: what was asked for is written down, and others go on
    ///   with it.
    func finishCascade() async throws {
        do {
            while true {
                let hasMore = try await core.writer.perform(
                    weight: Limits.cascadeCountMax,
                    check: { connection, _, _ in try Cascade.isUnfinished(connection) ? nil : false },
                    { transaction in try Cascade.goOn(in: transaction) })
                if !hasMore { return }
                try await core.afterStep?()
            }
        } catch let error as PenstockError where error.isOfStalledStore {
            throw PenstockError(
                .outcomeUnknown,
                "What was asked for is written down, and may not be done to all messages yet; the next claim goes on with it. "
                    + error.message,
                cause: error)
        }
    }

    /// Records what a step gave, as ``MessageStore/record(_:result:on:extendingBy:durability:)`` says, in one transaction with what else is
    /// asked for.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord {
        try StepRecord.validate(result)
        if let duration { try Lease.validate(duration) }
        return try await core.writer.perform(
            durability: durability, weight: 1 + result.count / bytesInRow, duringMove: .draining
        ) { transaction in
            // What is on record already may be there without a flush.
            if durability == .powerLoss { transaction.flush() }
            return try Journals.record(step, result, on: lease, extendingBy: duration, in: transaction)
        }
    }

    /// Tells a message or a workflow of an event, as ``MessageStore/emit(_:to:durability:)`` says, in one transaction with what
    /// else is asked for. Of very many tasks that wait for it the rest is put in line in steps.
    public func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool {
        try Task.checkCancellation()
        try event.validate()
        let isFirst = try await core.writer.perform(
            durability: durability, weight: 1 + event.payload.count / bytesInRow
        ) {
            try Events.emit(event, to: target, durability: durability, in: $0)
        }
        if isFirst, case .workflow = target { try await finishCascade() }
        return isFirst
    }
}
