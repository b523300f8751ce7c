public import PenstockCore
import PenstockWire

/// What only looks.
extension RemoteStore {
    /// Reads a page of a log.
    public func log(_ query: LogQuery) async throws -> LogPage {
        try await answer(to: RemoteCalls.log.request(query))
    }

    /// Reads messages.
    public func messages(_ query: MessageQuery) async throws -> MessagePage {
        try await answer(to: RemoteCalls.messages.request(query))
    }

    /// Puts dead letters into groups.
    public func deadGroups(_ query: DeadGroupQuery) async throws -> DeadGroupPage {
        try await answer(to: RemoteCalls.deadGroups.request(query))
    }

    /// Says what a message waits for.
    public func waitReason(of sequence: SequenceNumber) async throws -> WaitReason {
        try await answer(to: RemoteCalls.waitReason.request(sequence))
    }

    /// Counts what the store holds.
    public func status(of queue: QueueName?) async throws -> StoreStatus {
        try await answer(to: RemoteCalls.status.request(queue))
    }

    /// When the first message expires.
    public func nextExpiry(of queue: QueueName) async throws -> Timestamp? {
        try await answer(to: RemoteCalls.nextExpiry.request(queue)) { $0.map(clocks.here) }
    }

    /// Reads shared limits.
    public func limits() async throws -> [LimitRecord] {
        try await answer(to: RemoteCalls.limits.request())
    }

    /// Reads groups.
    public func groups(_ query: GroupQuery) async throws -> [GroupRecord] {
        try await answer(to: RemoteCalls.groups.request(query))
    }

    /// Reads schedules.
    public func schedules(_ name: ScheduleName?) async throws -> [ScheduleRecord] {
        try await answer(to: RemoteCalls.schedules.request(name))
    }

    /// Reads a page of schedules.
    public func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        try await answer(to: RemoteCalls.schedulePage.request(query))
    }

    /// Reads workflows.
    public func workflows(_ query: WorkflowQuery) async throws -> [WorkflowRecord] {
        try await answer(to: RemoteCalls.workflows.request(query))
    }

    /// Reads tasks.
    public func tasks(_ query: TaskQuery) async throws -> [TaskRecord] {
        try await answer(to: RemoteCalls.tasks.request(query))
    }

    /// Reads what a message has left behind.
    public func journal(of sequence: SequenceNumber) async throws -> MessageJournal {
        try await answer(to: RemoteCalls.journal.request(sequence))
    }

    /// What an event brought.
    public func event(_ name: EventName, for sequence: SequenceNumber) async throws -> [UInt8]? {
        try await answer(to: RemoteCalls.event.request(name, sequence))
    }
}
