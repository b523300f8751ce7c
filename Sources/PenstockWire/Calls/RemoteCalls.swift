package import PenstockCore

/// The calls of a `MessageStore`, in the order of its declaration, and of their numbers.
package enum RemoteCalls {
    package static let enqueue = RemoteCall(1) {
        (store, messages: [NewMessage], queue: QueueName, durability: Durability) in
        try await store.enqueue(messages, to: queue, durability: durability)
    }
    package static let claim = RemoteCall(2) { (store, request: ClaimRequest) in try await store.claim(request) }
    package static let settle = RemoteCall(3) { (store, settlements: [Settlement]) in
        try await store.settle(settlements)
    }
    package static let perform = RemoteCall(4) { (store, operations: [StoreOperation]) in
        try await store.perform(operations)
    }
    package static let extend = RemoteCall(5) { (store, extensions: [LeaseExtension]) in
        try await store.extend(extensions)
    }
    package static let reclaim = RemoteCall(6) { (store) in try await store.reclaim() }
    package static let append = RemoteCall(7) {
        (store, messages: [NewMessage], queue: QueueName, cursor: CursorName?, durability: Durability) in
        try await store.append(messages, to: queue, unless: cursor, durability: durability)
    }
    package static let log = RemoteCall(8, isReading: true) { (store, query: LogQuery) in try await store.log(query) }
    package static let moveCursor = RemoteCall(9) {
        (store, cursor: CursorName, queue: QueueName, move: CursorMove) in
        try await store.moveCursor(cursor, of: queue, move)
    }
    package static let messages = RemoteCall(10, isReading: true) { (store, query: MessageQuery) in
        try await store.messages(query)
    }
    package static let deadGroups = RemoteCall(11, isReading: true) { (store, query: DeadGroupQuery) in
        try await store.deadGroups(query)
    }
    package static let waitReason = RemoteCall(12, isReading: true) { (store, sequence: SequenceNumber) in
        try await store.waitReason(of: sequence)
    }
    package static let status = RemoteCall(13, isReading: true) { (store, queue: QueueName?) in
        try await store.status(of: queue)
    }
    package static let configure = RemoteCall(14) { (store, queue: QueueName, change: QueueChange) in
        try await store.configure(queue, change)
        return Empty()
    }
    package static let setLimit = RemoteCall(15) { (store, name: LimitName, count: Int?) in
        try await store.setLimit(name, to: count)
        return Empty()
    }
    package static let nextExpiry = RemoteCall(16, isReading: true) { (store, queue: QueueName) in
        try await store.nextExpiry(of: queue)
    }
    package static let limits = RemoteCall(17, isReading: true) { (store) in try await store.limits() }
    package static let groups = RemoteCall(18, isReading: true) { (store, query: GroupQuery) in
        try await store.groups(query)
    }
    package static let apply = RemoteCall(19) { (store, command: LineCommand, selection: Selection) in
        try await store.apply(command, to: selection)
    }
    package static let count = RemoteCall(20, isReading: true) {
        (store, selection: Selection, command: LineCommand) in
        try await store.count(selection, for: command)
    }
    package static let deadWithoutKeyCount = RemoteCall(21, isReading: true) {
        (store, queue: QueueName, group: String?) in
        try await store.deadWithoutKeyCount(of: queue, group: group)
    }
    package static let expectEnd = RemoteCall(22) { (store, sequence: SequenceNumber) in
        try await store.expectEnd(of: sequence)
    }
    package static let prune = RemoteCall(23) { (store, request: PruneRequest) in try await store.prune(request) }
    package static let schedule = RemoteCall(24) { (store, name: ScheduleName, change: ScheduleChange) in
        try await store.schedule(name, change)
    }
    package static let schedules = RemoteCall(25, isReading: true) { (store, name: ScheduleName?) in
        try await store.schedules(name)
    }
    package static let fire = RemoteCall(26) { (store) in try await store.fire() }
    package static let start = RemoteCall(27) { (store, workflow: NewWorkflow, durability: Durability) in
        try await store.start(workflow, durability: durability)
    }
    package static let cancel = RemoteCall(28) { (store, workflow: WorkflowName) in
        try await store.cancel(workflow)
    }
    package static let workflows = RemoteCall(29, isReading: true) { (store, query: WorkflowQuery) in
        try await store.workflows(query)
    }
    package static let tasks = RemoteCall(30, isReading: true) { (store, query: TaskQuery) in
        try await store.tasks(query)
    }
    package static let record = RemoteCall(31) {
        (
            store, step: StepName, result: [UInt8], lease: Lease, duration: Duration?, durability: Durability
        ) in
        try await store.record(step, result: result, on: lease, extendingBy: duration, durability: durability)
    }
    package static let journal = RemoteCall(32, isReading: true) { (store, sequence: SequenceNumber) in
        try await store.journal(of: sequence)
    }
    package static let emit = RemoteCall(33) { (store, event: NewEvent, target: EventTarget, durability: Durability) in
        try await store.emit(event, to: target, durability: durability)
    }
    package static let event = RemoteCall(34, isReading: true) { (store, name: EventName, sequence: SequenceNumber) in
        try await store.event(name, for: sequence)
    }
    package static let schedulePage = RemoteCall(35, isReading: true) { (store, query: ScheduleQuery) in
        try await store.schedules(page: query)
    }
}
