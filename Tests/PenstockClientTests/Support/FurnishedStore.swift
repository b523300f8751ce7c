import PenstockCore
import Testing

/// What calls are about: a store whose queue `other` has messages, a workflow and a schedule, and whose queue `mail` has a message.
struct FurnishedStore: Sendable {
    let mail = TokenServer.mail
    let other = TokenServer.other
    let workflow = WorkflowName(stored: "w")
    let schedule = ScheduleName(stored: "s")
    let event = EventName(stored: "go")
    /// Of a message of `other`.
    let lease: Lease
    /// A message of `other`.
    let ready: SequenceNumber
    /// Of the message of `mail`.
    let ownLease: Lease

    /// Furnishes a store that has the two queues.
    init(_ store: any MessageStore) async throws {
        func put(in queue: QueueName) async throws -> SequenceNumber {
            try #require(
                try await store.enqueue([NewMessage(payload: [1])], to: queue, durability: .processCrash).first
            ).sequence
        }
        func claim(from queue: QueueName) async throws -> Lease {
            let request = ClaimRequest(queue: queue, limit: 1, lease: .seconds(3600))
            return try #require(try await store.claim(request).messages.first).lease
        }
        _ = try await put(in: other)
        lease = try await claim(from: other)
        ready = try await put(in: other)
        _ = try await put(in: mail)
        ownLease = try await claim(from: mail)
        _ = try await store.start(NewWorkflow(workflow, tasks: [Self.task(in: other)]), durability: .processCrash)
        _ = try await store.schedule(schedule, .put(Self.schedule(for: other), replacing: false))
    }

    static func task(_ name: String = "t", in queue: QueueName) -> NewTask {
        NewTask(TaskName(stored: name), queue: queue, message: NewMessage(payload: [2]))
    }

    /// One that fires on New Year's Day.
    static func schedule(for queue: QueueName) -> Schedule {
        Schedule(queue: queue, spec: "0 0 1 1 *", message: NewMessage(payload: [3]))
    }
}

/// All that a store holds, but for its workers.
struct StoreContents: Equatable {
    private let queues: [QueueStatus]
    private let cursors: [CursorRecord]
    private let messages: [MessageRecord]
    private let journals: [MessageJournal]
    private let events: [[UInt8]?]
    private let schedules: [Schedule]
    private let firings: [[FiringRecord]]
    private let paused: [ScheduleName]
    private let limits: [LimitRecord]
    private let workflows: [WorkflowRecord]

    /// Reads all of it.
    init(_ store: any MessageStore) async throws {
        let status = try await store.status(of: nil)
        (queues, cursors) = (status.queues, status.cursors)
        messages = try await store.messages(MessageQuery(withPayload: true)).records.map { message in
            var message = message
            // It is reckoned by clocks that go on, and is not to the microsecond the same each time.
            message.leaseEndsAt = nil
            return message
        }
        var (journals, events): ([MessageJournal], [[UInt8]?]) = ([], [])
        for message in messages {
            journals.append(try await store.journal(of: message.sequence))
            events.append(try await store.event(EventName(stored: "go"), for: message.sequence))
        }
        (self.journals, self.events) = (journals, events)
        let schedules = try await store.schedules(nil)
        self.schedules = schedules.map(\.schedule)
        firings = schedules.map(\.firings)
        paused = schedules.filter(\.isPaused).map(\.name)
        limits = try await store.limits()
        workflows = try await store.workflows(WorkflowQuery())
    }
}
