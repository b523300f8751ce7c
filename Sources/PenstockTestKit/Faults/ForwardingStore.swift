public import PenstockCore

/// A store that hands every call to another one: what stores for tests are made of.
///
/// A store that is to do one thing differently implements that call itself. One that looks at every call implements
/// ``pass(_:_:)``, through which each of them goes:
///
/// ```swift
/// struct CountingStore: ForwardingStore {
///     let base: any MessageStore
///     let count = Tally()
///
///     func pass<Answer: Sendable>(
///         _ call: StoreCall, _ body: @Sendable () async throws -> Answer
///     ) async throws -> Answer {
///         count.add()
///         return try await body()
///     }
/// }
/// ```
///
/// `perform(_:)` is handed on as one call for each operation, unless the store implements it.
public protocol ForwardingStore: MessageStore {
    /// The store underneath.
    var base: any MessageStore { get }

    /// Makes a call of the store underneath: `body`. What it returns or throws is what the caller gets.
    func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer
}

extension ForwardingStore {
    /// The bell of the store underneath.
    public var changes: Wakeups { base.changes }

    /// As the store's underneath.
    public var lookInterval: Duration { base.lookInterval }

    /// Those of the store underneath.
    public var timings: StoreTimings { base.timings }

    /// Makes the call, and does nothing else.
    public func pass<Answer: Sendable>(
        _ call: StoreCall, _ body: @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await body()
    }

    /// Hands the call on.
    public func enqueue(
        _ messages: [NewMessage], to queue: QueueName, durability: Durability
    ) async throws -> [Receipt] {
        try await pass(.enqueue) { try await base.enqueue(messages, to: queue, durability: durability) }
    }

    /// Hands the call on.
    public func claim(_ request: ClaimRequest) async throws -> Claim {
        try await pass(.claim) { try await base.claim(request) }
    }

    /// Hands the call on.
    public func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
        try await pass(.settle) { try await base.settle(settlements) }
    }

    /// Hands the call on.
    public func extend(_ extensions: [LeaseExtension]) async throws -> [LeaseStanding] {
        try await pass(.extend) { try await base.extend(extensions) }
    }

    /// Hands the call on.
    public func reclaim() async throws -> Reclaimed {
        try await pass(.reclaim) { try await base.reclaim() }
    }

    /// Hands the call on.
    public func append(
        _ messages: [NewMessage], to queue: QueueName, unless cursor: CursorName?, durability: Durability
    ) async throws -> [Receipt] {
        try await pass(.append) {
            try await base.append(messages, to: queue, unless: cursor, durability: durability)
        }
    }

    /// Hands the call on.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try await pass(.log) { try await base.log(query) }
    }

    /// Hands the call on.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? {
        try await pass(.moveCursor) { try await base.moveCursor(cursor, of: queue, move) }
    }

    /// Hands the call on.
    public func messages(_ query: MessageQuery) async throws -> MessagePage {
        try await pass(.messages) { try await base.messages(query) }
    }

    /// Hands the call on.
    public func deadGroups(_ query: DeadGroupQuery) async throws -> DeadGroupPage {
        try await pass(.deadGroups) { try await base.deadGroups(query) }
    }

    /// Hands the call on.
    public func waitReason(of sequence: SequenceNumber) async throws -> WaitReason {
        try await pass(.waitReason) { try await base.waitReason(of: sequence) }
    }

    /// Hands the call on.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        try await pass(.status) { try await base.status(of: queue) }
    }

    /// Hands the call on, as one for the status.
    public func storeMove() async throws -> StoreMove? {
        try await pass(.status) { try await base.storeMove() }
    }

    /// Hands the call on, as one for the status.
    public func storeID() async throws -> StoreID? {
        try await pass(.status) { try await base.storeID() }
    }

    /// Hands the call on.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        try await pass(.configure) { try await base.configure(queue, change) }
    }

    /// Hands the call on.
    public func setLimit(_ name: LimitName, to count: Int?) async throws {
        try await pass(.setLimit) { try await base.setLimit(name, to: count) }
    }

    /// Hands the call on.
    public func limits() async throws -> [LimitRecord] {
        try await pass(.limits) { try await base.limits() }
    }

    /// Hands the call on, which only reads.
    public func deadWithoutKeyCount(of queue: QueueName, group: String?) async throws -> Int {
        try await base.deadWithoutKeyCount(of: queue, group: group)
    }

    /// Hands the call on, as a part of the wait for room.
    public func nextExpiry(of queue: QueueName) async throws -> Timestamp? {
        try await base.nextExpiry(of: queue)
    }

    /// Hands the call on.
    public func groups(_ query: GroupQuery) async throws -> [GroupRecord] {
        try await pass(.groups) { try await base.groups(query) }
    }

    /// Hands the call on.
    public func apply(_ command: LineCommand, to selection: Selection) async throws -> Int {
        try await pass(.apply) { try await base.apply(command, to: selection) }
    }

    /// Hands the call on.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        try await pass(.count) { try await base.count(selection, for: command) }
    }

    /// Hands the call on.
    public func expectEnd(of sequence: SequenceNumber) async throws -> MessageState {
        try await pass(.expectEnd) { try await base.expectEnd(of: sequence) }
    }

    /// Hands the call on.
    public func prune(_ request: PruneRequest) async throws -> Pruned {
        try await pass(.prune) { try await base.prune(request) }
    }

    /// Hands the call on.
    @discardableResult
    public func schedule(_ name: ScheduleName, _ change: ScheduleChange) async throws -> ScheduleRecord? {
        try await pass(.schedule) { try await base.schedule(name, change) }
    }

    /// Hands the call on.
    public func schedules(_ name: ScheduleName?) async throws -> [ScheduleRecord] {
        try await pass(.schedules) { try await base.schedules(name) }
    }

    /// Hands the call on.
    public func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        try await pass(.schedules) { try await base.schedules(page: query) }
    }

    /// Hands the call on.
    public func fire() async throws -> Timestamp? {
        try await pass(.fire) { try await base.fire() }
    }

    /// Hands the call on.
    public func start(_ workflow: NewWorkflow, durability: Durability) async throws -> StartedWorkflow {
        try await pass(.start) { try await base.start(workflow, durability: durability) }
    }

    /// Hands the call on.
    public func cancel(_ workflow: WorkflowName) async throws -> Int {
        try await pass(.cancel) { try await base.cancel(workflow) }
    }

    /// Hands the call on.
    public func workflows(_ query: WorkflowQuery) async throws -> [WorkflowRecord] {
        try await pass(.workflows) { try await base.workflows(query) }
    }

    /// Hands the call on.
    public func tasks(_ query: TaskQuery) async throws -> [TaskRecord] {
        try await pass(.tasks) { try await base.tasks(query) }
    }

    /// Hands the call on.
    public func record(
        _ step: StepName, result: [UInt8], on lease: Lease, extendingBy duration: Duration?, durability: Durability
    ) async throws -> StepRecord {
        try await pass(.record) {
            try await base.record(
                step, result: result, on: lease, extendingBy: duration, durability: durability)
        }
    }

    /// Hands the call on.
    public func journal(of sequence: SequenceNumber) async throws -> MessageJournal {
        try await pass(.journal) { try await base.journal(of: sequence) }
    }

    /// Hands the call on.
    public func emit(_ event: NewEvent, to target: EventTarget, durability: Durability) async throws -> Bool {
        try await pass(.emit) { try await base.emit(event, to: target, durability: durability) }
    }

    /// Hands the call on.
    public func event(_ name: EventName, for sequence: SequenceNumber) async throws -> [UInt8]? {
        try await pass(.event) { try await base.event(name, for: sequence) }
    }

    /// Hands the call on.
    public func close() async throws {
        try await pass(.close) { try await base.close() }
    }
}

extension ForwardingStore {
    /// Carries out operations in one call, as the store underneath does. Until the disk is flushed something is under way, which the
    /// executor is told.
    func perform(
        _ operations: [StoreOperation], awayFrom executor: IdleExecutor?, flushed: Flushed?
    ) async throws -> Performed {
        try await pass(operations.allSatisfy(\.isClaim) ? .claim : .enqueue) {
            guard let flushed, let executor else { return try await base.perform(operations, flushed: flushed) }
            executor.leave()
            do {
                return try await base.perform(operations) { failure in
                    flushed(failure)
                    executor.comeBack()
                }
            } catch {
                executor.comeBack()
                throw error
            }
        }
    }
}
