import PenstockClient
import PenstockCore
import PenstockHTTP
import PenstockWire

/// Calls that change queues and what belongs to them, and those that only look.
extension GuardedCalls {
    /// One entry at least for each call that there is.
    static let all: [GuardedCall] = {
        var calls = GuardedCalls()
        // Looks come first, as what they look at is changed by the others, and may be gone.
        calls.addLooksAtMessages()
        calls.addLooksAtTheStore()
        calls.addArrivals()
        calls.addWork()
        calls.addVerdicts()
        calls.addCommands()
        calls.addQueues()
        calls.addSchedules()
        return calls.all
    }()

    private mutating func addQueues() {
        add(RemoteCalls.configure.id, "configure, a change", [.operate]) { try await $0.configure($1.other, .pause) }
        add(RemoteCalls.configure.id, "configure, a new queue", [.operate]) { store, _ in
            try await store.configure(QueueName(stored: "other-new"), .create(QueuePolicy(), ifAbsent: false))
        }
        add(RemoteCalls.configure.id, "configure, a shared limit", [.operate], .wholeStore) {
            let policy = QueuePolicy(sharedLimit: LimitName(stored: "gpu"))
            try await $0.configure($1.mail, .set(policy, replacing: nil))
        }
        add(RemoteCalls.setLimit.id, "setLimit", [.operate], .wholeStore) { store, _ in
            try await store.setLimit(LimitName(stored: "gpu"), to: 1)
        }
        add(RemoteCalls.moveCursor.id, "moveCursor of a reader", [.consume]) {
            _ = try await $0.moveCursor(CursorName(stored: "reader"), of: $1.other, .place(after: nil))
        }
        add(RemoteCalls.moveCursor.id, "moveCursor that ends the log", [.produce]) {
            _ = try await $0.moveCursor(.completion, of: $1.other, .place(after: nil))
        }
        add(RemoteCalls.moveCursor.id, "moveCursor of settings", [.operate], .wholeStore) {
            _ = try await $0.moveCursor(CursorName(stored: "amazon-sqs.1"), of: $1.mail, .place(after: nil))
        }
    }

    private mutating func addSchedules() {
        let new = ScheduleName(stored: "new")
        add(RemoteCalls.schedule.id, "schedule, a new one", [.operate]) {
            _ = try await $0.schedule(new, .put(FurnishedStore.schedule(for: $1.other), replacing: false))
        }
        add(RemoteCalls.schedule.id, "schedule, in the place of one", [.operate]) {
            _ = try await $0.schedule($1.schedule, .put(FurnishedStore.schedule(for: $1.mail), replacing: true))
        }
        for (word, change) in [("pause", .pause), ("run", .run), ("remove", .remove)] as [(String, ScheduleChange)] {
            add(RemoteCalls.schedule.id, "schedule, \(word)", [.operate]) {
                _ = try await $0.schedule($1.schedule, change)
            }
        }
        add(RemoteCalls.schedules.id, "schedules, one", [.read]) { _ = try await $0.schedules($1.schedule) }
        add(RemoteCalls.schedules.id, "schedules, all", [.read], .anyQueue) { store, _ in
            _ = try await store.schedules(nil)
        }
        add(RemoteCalls.schedulePage.id, "schedules, a page", [.read], .anyQueue) { store, _ in
            _ = try await store.schedules(page: ScheduleQuery())
        }
    }

    private mutating func addLooksAtMessages() {
        add(RemoteCalls.log.id, "log", [.read]) { _ = try await $0.log(LogQuery(queue: $1.other, .last(10))) }
        add(RemoteCalls.messages.id, "messages of a queue", [.read]) {
            _ = try await $0.messages(MessageQuery(queue: $1.other))
        }
        add(RemoteCalls.messages.id, "messages by number", [.read]) {
            _ = try await $0.messages(MessageQuery(sequences: [$1.ready]))
        }
        add(RemoteCalls.messages.id, "messages, whether the queue is there", Set(Scope.allCases)) {
            _ = try await $0.messages(MessageQuery(queue: $1.other, sequences: []))
        }
        add(RemoteCalls.messages.id, "messages of all queues", [.read], .wholeStore) { store, _ in
            _ = try await store.messages(MessageQuery())
        }
        add(RemoteCalls.deadGroups.id, "deadGroups of a queue", [.read]) {
            _ = try await $0.deadGroups(DeadGroupQuery(queue: $1.other))
        }
        add(RemoteCalls.deadGroups.id, "deadGroups of all queues", [.read], .wholeStore) { store, _ in
            _ = try await store.deadGroups(DeadGroupQuery())
        }
        add(RemoteCalls.deadWithoutKeyCount.id, "deadWithoutKeyCount", [.read, .operate]) {
            _ = try await $0.deadWithoutKeyCount(of: $1.other, group: nil)
        }
        add(RemoteCalls.waitReason.id, "waitReason", [.read]) { _ = try await $0.waitReason(of: $1.ready) }
        add(RemoteCalls.expectEnd.id, "expectEnd", [.read]) { _ = try await $0.expectEnd(of: $1.ready) }
        add(RemoteCalls.journal.id, "journal", [.read, .consume]) {
            _ = try await $0.journal(of: $1.lease.sequence)
        }
        add(RemoteCalls.event.id, "event", [.read, .consume]) {
            _ = try await $0.event($1.event, for: $1.lease.sequence)
        }
    }

    private mutating func addLooksAtTheStore() {
        add(RemoteCalls.status.id, "status of a queue", Set(Scope.allCases)) {
            _ = try await $0.status(of: $1.other)
        }
        add(RemoteCalls.status.id, "status of all", [.read], .anyQueue) { store, _ in
            _ = try await store.status(of: nil)
        }
        add(RemoteCalls.nextExpiry.id, "nextExpiry", [.produce, .read]) { _ = try await $0.nextExpiry(of: $1.other) }
        add(RemoteCalls.limits.id, "limits", [.read], .wholeStore) { store, _ in _ = try await store.limits() }
        add(RemoteCalls.groups.id, "groups", [.read]) { _ = try await $0.groups(GroupQuery(queue: $1.other)) }
        add(RemoteCalls.workflows.id, "workflows", [.read], .wholeStore) { store, _ in
            _ = try await store.workflows(WorkflowQuery())
        }
        add(RemoteCalls.tasks.id, "tasks", [.read], .wholeStore) { _ = try await $0.tasks(TaskQuery($1.workflow)) }
    }
}
