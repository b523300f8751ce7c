/// What calls say that leave something out, and what a store need not implement.
extension MessageStore {
    /// Is told that what a call has done is on the disk, or why nobody knows.
    public typealias Flushed = @Sendable ((any Error)?) -> Void

    /// Carries out operations in their order, and answers when they are as durable as they ask to be; see
    /// ``perform(_:flushed:)``.
    public func perform(_ operations: [StoreOperation]) async throws -> Performed {
        try await perform(operations, flushed: nil)
    }

    /// Moves the ends of leases to `duration` from now.
    ///
    /// - Returns: for each lease whether it is still held. One that is not is left alone.
    /// - Throws: `invalidInput` when no lease may be that long.
    public func extend(_ leases: [Lease], by duration: Duration) async throws -> [Bool] {
        try await extend(leases.map { LeaseExtension($0, by: duration) }).map(\.isHeld)
    }

    /// Records what a step gave so that it survives a power cut; see ``record(_:result:on:extendingBy:durability:)``.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?
    ) async throws -> StepRecord {
        try await record(step, result: result, on: lease, extendingBy: duration, durability: .powerLoss)
    }

    /// Carries out one operation after the other, each by its own call. For stores that wrap another one.
    public func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
        var performed = Performed()
        for operation in operations {
            do {
                let answer: StoreAnswer =
                    switch operation {
                    case .enqueue(let messages, let queue, let durability):
                        .enqueued(try await enqueue(messages, to: queue, durability: durability))
                    case .settle(let settlements): .settled(try await settle(settlements))
                    case .claim(let request): .claimed(try await claim(request))
                    }
                performed.answers.append(answer)
                if operation.isCutShort(by: answer) { break }
            } catch {
                if performed.answers.isEmpty { throw error }
                performed.failure = error
                break
            }
        }
        flushed?(nil)
        return performed
    }
}

extension MessageStore {
    /// A quarter of a second.
    public var lookInterval: Duration { .milliseconds(250) }

    /// A part of all that there are. For stores that cannot read them by pages.
    public func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        try query.validate()
        let all = try await schedules(nil)
        let rest = query.after.map { after in all.drop { $0.name <= after } } ?? all[...]
        return Array(rest.prefix(query.limit))
    }

    /// What ``status(of:)`` says.
    public func storeMove() async throws -> StoreMove? { try await status(of: nil).move }

    /// None.
    public func storeID() async throws -> StoreID? { nil }

    /// Nothing.
    public var timings: StoreTimings { StoreTimings() }
}
