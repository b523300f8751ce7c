internal import Logging
internal import PenstockCore
internal import Synchronization

/// The steps of one attempt at a message: what is on record, which names the attempt has taken, and whether it has stopped to
/// wait. All copies of a delivery share one.
///
/// The store is read once, at the first step. From then on this process alone records steps of the message, as it holds the
/// lease.
final class StepJournal: Sendable {
    private typealias Records = [StepName: StepRecord]

    private struct State {
        /// What is on record, once it was read.
        var records: Records?
        var reading: Task<Records, any Error>?
        var taken: Set<StepName> = []
        /// Those of them that were taken in an application's transaction, which may come to nothing.
        var takenInTransactions: Set<StepName> = []
        /// Steps that are not over, by the names that the handler gave them.
        var open: [String: OpenStep] = [:]
        var suspension: Suspension?
        /// Why the attempt fails, whatever its handler makes of that.
        var fault: PenstockError?
        /// Whether the program has settled the delivery by itself.
        var isSettled = false

        /// The first fault is the one that counts.
        mutating func note(_ text: String) -> PenstockError {
            let fault = fault ?? PenstockError(.invalidInput, text)
            self.fault = fault
            return fault
        }
    }

    private enum OpenStep {
        case running
        case failed
        /// Another of its name has begun while it ran.
        case doubled
    }

    /// The journal in one of whose steps the task is.
    @TaskLocal private static var current: StepJournal?

    let lease: Lease
    let holder: LeaseHolder
    private let state = Mutex(State())

    init(_ lease: Lease, _ holder: LeaseHolder) {
        self.lease = lease
        self.holder = holder
    }

    /// Whether the program has settled the delivery by itself.
    var isSettled: Bool { state.withLock { $0.isSettled } }

    func settled() { state.withLock { $0.isSettled = true } }

    /// Why the attempt goes no further: it waits.
    var suspension: Suspension? { state.withLock { $0.suspension } }

    // MARK: Steps

    /// Gives what is on record of a step, or else calls `body` and records what that gives.
    ///
    /// - Parameters:
    ///   - given: the step's name without a number. It takes the first free one of it and the same with a number: names of
    ///     steps that are over are taken.
    ///   - isWait: whether the step notes what a wait waits for. Such a step is taken though the attempt waits already.
    func step(
        _ given: String, isWait: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> [UInt8]
    ) async throws -> [UInt8] {
        if isWait { try refuseFaulty() } else { try refuseStopped() }
        let name = try take(given)
        try open(given)
        do {
            let result = try await result(of: given, name, isWait, isolation, body)
            close(given)
            return result
        } catch {
            leaveOpen(given)
            throw error
        }
    }

    private func result(
        of given: String, _ name: StepName, _ isWait: Bool, _ isolation: isolated (any Actor)?,
        _ body: () async throws -> [UInt8]
    ) async throws -> [UInt8] {
        if let record = try await record(of: name) { return record.result }
        try holder.requireHeld(lease)
        if !isWait { try refuseStopped() }
        let before = recorded
        try StepRecord.validateRoom(count: before.count + runningCount, bytes: before.bytes)
        let result = try await Self.$current.withValue(self, operation: body, isolation: isolation)
        try requireAlone(given)
        try StepRecord.validateGiven(result, bytesBefore: recorded.bytes)
        return try await keep(name, result).result
    }

    /// How many steps are on record, and how many bytes they gave.
    private var recorded: (count: Int, bytes: Int) {
        state.withLock { state in
            let records = state.records ?? [:]
            return (records.count, records.values.reduce(0) { $0 + $1.result.count })
        }
    }

    /// What is on record of the step; `nil` when it is not over.
    func record(of name: StepName) async throws -> StepRecord? {
        let (records, reading) = state.withLock { state -> (Records?, Task<Records, any Error>?) in
            if let records = state.records { return (records, nil) }
            // Its own task: all steps that begin together wait for it, and none of them may cancel it.
            let reading = state.reading ?? Task { [self] in try await read() }
            state.reading = reading
            return (nil, reading)
        }
        guard let reading else { return records?[name] }
        do {
            let read = try await reading.value
            return state.withLock { state in
                let records = state.records ?? read
                state.records = records
                return records[name]
            }
        } catch {
            state.withLock { if $0.reading == reading { $0.reading = nil } }
            throw error
        }
    }

    private func read() async throws -> Records {
        let steps = try await holder.handle.storage.journal(of: lease.sequence).steps
        return Dictionary(steps.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Records what a step gave. The first record of its name stays.
    func keep(_ name: StepName, _ result: [UInt8]) async throws -> StepRecord {
        let record = try await holder.record(name, result, on: lease)
        state.withLock { $0.records?[name] = record }
        return record
    }

    // MARK: Names

    /// Runs the body of a step, in which there is no other step or wait of the message: see ``take(_:kind:unless:)``.
    func inside<Value>(_ body: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self, operation: body)
    }

    /// Takes the first free one of `name`, `name#2`, `name#3` and so on; of a name with a kind, of `name#kind`, `name#kind#2` and
    /// so on. The names that people give have no `#`, so none of one kind is one of another.
    ///
    /// Within a step there is no other: a later attempt, which has the outer one from the record, would not come to it, and the next
    /// of its name would get its record.
    ///
    /// - Parameter isGone: whether a name that was taken is free again.
    func take(
        _ name: String, kind: String? = nil, unless isGone: (StepName) throws -> Bool = { _ in false }
    ) throws -> StepName {
        if Self.current === self {
            throw state.withLock {
                $0.note(
                    "'\(name)' is taken or waited for within another step of the message, whose record a later attempt finds "
                        + "without coming to it; take the two one after the other.")
            }
        }
        guard kind != nil || name.utf8.count <= Limits.givenStepNameBytesMax else {
            throw PenstockError(
                .invalidInput,
                "A handler gives a step a name of at most \(Limits.givenStepNameBytesMax) bytes (givenStepNameBytesMax)."
            )
        }
        guard !name.utf8.contains(UInt8(ascii: "#")) else {
            throw PenstockError(
                .invalidInput, "The name '\(name)' of a step has a '#', which stands before the numbers of steps.")
        }
        let whole = kind.map { "\(name)#\($0)" } ?? name
        for number in 1...(Limits.stepCountMax + 1) {
            let name = try StepName(number == 1 ? whole : "\(whole)#\(number)")
            let isFree = state.withLock { $0.taken.insert(name).inserted }
            if try isFree || isGone(name) { return name }
        }
        throw PenstockError(
            .invalidInput, "The handler takes more than \(Limits.stepCountMax) steps called '\(name)' (stepCountMax).")
    }

    func isInTransaction(_ name: StepName) -> Bool {
        state.withLock { $0.takenInTransactions.contains(name) }
    }

    func noteInTransaction(_ name: StepName) {
        _ = state.withLock { $0.takenInTransactions.insert(name) }
    }

    /// The name is free again: what waits for an event waits for the same one however often.
    func giveBack(_ name: StepName) {
        _ = state.withLock { $0.taken.remove(name) }
    }

    // MARK: Open steps

    /// Begins a step. No other of its name may begin until it is over: a later attempt could not tell which of them has which
    /// number. One that failed stays open, as the next of its name may be the same again or another, such as the next item's
    /// in a loop, and it would get that one's record.
    ///
    /// - Throws: `PenstockError` with code `invalidInput`, and then the attempt fails.
    func open(_ given: String) throws {
        try state.withLock { state in
            let fault: String
            switch state.open[given] {
            case nil:
                state.open[given] = .running
                return
            case .failed:
                fault =
                    "The step '\(given)' failed before in this attempt, and another of its name cannot be told from it; in a "
                    + "loop put the item into the name, and what is to be tried again at once into the step."
            case .running, .doubled:
                state.open[given] = .doubled
                fault =
                    "Two steps called '\(given)' run at the same time, and a later attempt could not tell them apart; give "
                    + "each a name of its own."
            }
            throw state.note(fault)
        }
    }

    func close(_ given: String) {
        state.withLock { if $0.open[given] == .running { $0.open[given] = nil } }
    }

    func leaveOpen(_ given: String) {
        state.withLock { if $0.open[given] == .running { $0.open[given] = .failed } }
    }

    /// What a step did is not recorded when another of its name has begun meanwhile: the next attempt could take it for that
    /// one's.
    func requireAlone(_ given: String) throws {
        if state.withLock({ $0.open[given] == .doubled }) { try refuseFaulty() }
    }

    private var runningCount: Int { state.withLock { $0.open.values.count { $0 == .running } } }

    // MARK: Stopping

    /// Ends the attempt, so that its message goes on at `until` or with the event; with other waits, when the first of what they
    /// wait for is there.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when it waits for another event already; then the attempt fails.
    func suspend(until: Timestamp, event: EventName? = nil) throws -> Suspension {
        try state.withLock { state in
            let suspension = Suspension(until: until, event: event)
            guard let earlier = state.suspension else {
                state.suspension = suspension
                return suspension
            }
            guard let joined = earlier.joined(with: suspension) else {
                throw state.note(
                    "The handler waits for the events '\(earlier.event?.text ?? "")' and '\(event?.text ?? "")' at once, and a "
                        + "message waits for one; wait for one after the other, or send one event for both.")
            }
            state.suspension = joined
            return joined
        }
    }

    /// An attempt that has stopped to wait, or cannot go on, takes no further step, whatever its handler made of the error.
    func refuseStopped() throws {
        try refuseFaulty()
        if let suspension { throw suspension }
    }

    /// An attempt whose steps later ones could not tell apart goes no further.
    func refuseFaulty() throws {
        if let fault = state.withLock({ $0.fault }) { throw fault }
    }

    /// How the attempt ended whose handler has ended so: what that makes of an error that stopped the attempt does not count.
    func end(_ end: HandlerEnd) -> HandlerEnd {
        switch end {
        case .finished, .failed:
            let stop = state.withLock { state -> (any Error)? in state.fault ?? state.suspension }
            guard let stop else { return end }
            if stop is Suspension, let failure = end.failure, !(failure is CancellationError) {
                holder.handle.logger.warning(
                    "a handler that waits failed as well; its message goes on when the wait is over",
                    metadata: [
                        "queue": "\(holder.queue)", "sequence": "\(lease.sequence)", "error": "\(failure)",
                    ])
            }
            return .failed(stop)
        default: return end
        }
    }
}
