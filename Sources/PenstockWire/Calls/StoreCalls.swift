package import PenstockCore

/// The calls of a `MessageStore`, in the order of its declaration.
package enum StoreCalls {
    package static let enqueue = StoreCall(1) {
        (store, messages: [NewMessage], queue: QueueName, durability: Durability) in
        try await store.enqueue(messages, to: queue, durability: durability)
    }
    package static let claim = StoreCall(2) { (store, request: ClaimRequest) in try await store.claim(request) }
    package static let settle = StoreCall(3) { (store, settlements: [Settlement]) in
        try await store.settle(settlements)
    }
    package static let perform = StoreCall(4) { (store, operations: [StoreOperation]) in
        try await store.perform(operations)
    }
    package static let extend = StoreCall(5) { (store, extensions: [LeaseExtension]) in
        try await store.extend(extensions)
    }
    package static let reclaim = StoreCall(6) { (store) in try await store.reclaim() }
    package static let append = StoreCall(7) {
        (store, messages: [NewMessage], queue: QueueName, cursor: CursorName?, durability: Durability) in
        try await store.append(messages, to: queue, unless: cursor, durability: durability)
    }
    package static let log = StoreCall(8, isReading: true) { (store, query: LogQuery) in try await store.log(query) }
    package static let moveCursor = StoreCall(9) {
        (store, cursor: CursorName, queue: QueueName, move: CursorMove) in
        try await store.moveCursor(cursor, of: queue, move)
    }
    package static let messages = StoreCall(10, isReading: true) { (store, query: MessageQuery) in
        try await store.messages(query)
    }
    package static let deadGroups = StoreCall(11, isReading: true) { (store, query: DeadGroupQuery) in
        try await store.deadGroups(query)
    }
    package static let waitReason = StoreCall(12, isReading: true) { (store, sequence: SequenceNumber) in
        try await store.waitReason(of: sequence)
    }
    package static let status = StoreCall(13, isReading: true) { (store, queue: QueueName?) in
        try await store.status(of: queue)
    }
    package static let configure = StoreCall(14) { (store, queue: QueueName, change: QueueChange) in
        try await store.configure(queue, change)
        return Empty()
    }
    package static let setLimit = StoreCall(15) { (store, name: LimitName, count: Int?) in
        try await store.setLimit(name, to: count)
        return Empty()
    }
    package static let nextExpiry = StoreCall(16, isReading: true) { (store, queue: QueueName) in
        try await store.nextExpiry(of: queue)
    }
    package static let limits = StoreCall(17, isReading: true) { (store) in try await store.limits() }
    package static let groups = StoreCall(18, isReading: true) { (store, query: GroupQuery) in
        try await store.groups(query)
    }
    package static let apply = StoreCall(19) { (store, command: LineCommand, selection: Selection) in
        try await store.apply(command, to: selection)
    }
    package static let count = StoreCall(20, isReading: true) {
        (store, selection: Selection, command: LineCommand) in
        try await store.count(selection, for: command)
    }
    package static let deadWithoutKeyCount = StoreCall(21, isReading: true) {
        (store, queue: QueueName, group: String?) in
        try await store.deadWithoutKeyCount(of: queue, group: group)
    }
    package static let expectEnd = StoreCall(22) { (store, sequence: SequenceNumber) in
        try await store.expectEnd(of: sequence)
    }
    package static let prune = StoreCall(23) { (store, request: PruneRequest) in try await store.prune(request) }
    package static let schedule = StoreCall(24) { (store, name: ScheduleName, change: ScheduleChange) in
        try await store.schedule(name, change)
    }
    package static let schedules = StoreCall(25, isReading: true) { (store, name: ScheduleName?) in
        try await store.schedules(name)
    }
    package static let fire = StoreCall(26) { (store) in try await store.fire() }
    package static let start = StoreCall(27) { (store, workflow: NewWorkflow, durability: Durability) in
        try await store.start(workflow, durability: durability)
    }
    package static let cancel = StoreCall(28) { (store, workflow: WorkflowName) in
        try await store.cancel(workflow)
    }
    package static let workflows = StoreCall(29, isReading: true) { (store, query: WorkflowQuery) in
        try await store.workflows(query)
    }
    package static let tasks = StoreCall(30, isReading: true) { (store, query: TaskQuery) in
        try await store.tasks(query)
    }
    package static let record = StoreCall(31) {
        (
            store, step: StepName, result: [UInt8], lease: Lease, duration: Duration?, durability: Durability
        ) in
        try await store.record(step, result: result, on: lease, extendingBy: duration, durability: durability)
    }
    package static let journal = StoreCall(32, isReading: true) { (store, sequence: SequenceNumber) in
        try await store.journal(of: sequence)
    }
    package static let emit = StoreCall(33) { (store, event: NewEvent, target: EventTarget, durability: Durability) in
        try await store.emit(event, to: target, durability: durability)
    }
    package static let event = StoreCall(34, isReading: true) { (store, name: EventName, sequence: SequenceNumber) in
        try await store.event(name, for: sequence)
    }
}
