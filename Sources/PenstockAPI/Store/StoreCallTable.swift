import Penstock
import PenstockCore
import PenstockHTTP
import PenstockWire

/// What this server does when a client calls its store: the calls by their numbers, each with what its caller must be allowed.
///
/// The scopes are those of the JSON requests that do the same, with these exceptions. A replay is carried out by its caller here, who reads
/// the messages and enqueues them, and so may do both. A program that puts messages into a queue or works it needs the queue's policy, and
/// its depths to wait for room, so whoever may do anything with a queue is told these. A handler knows what the steps of its message have
/// given, and which events have come. Workers do housekeeping for all queues, so whoever may work on
/// one may call for it.
struct StoreCallTable: Sendable {
    /// One call: reads its arguments, looks at what the caller may do, and carries it out.
    struct Entry: Sendable {
        /// Whether it changes nothing.
        var isReading: Bool
        var carryOut: @Sendable (StoreCaller, inout WireReader) async throws -> StoreAnswerBytes
    }

    private let entries: [UInt8: Entry]

    /// The call of that number; `nil`: there is none.
    subscript(_ id: UInt8) -> Entry? { entries[id] }

    init() {
        var entries: [UInt8: Entry] = [:]
        func add<each Part: WireValue, Answer: WireValue>(
            _ call: RemoteCall<repeat each Part, Answer>,
            telling tell: @escaping @Sendable (StoreCaller, Answer) async throws -> Answer = { $1 },
            _ isAllowed: @escaping @Sendable (StoreCaller, repeat each Part) async throws -> Void
        ) {
            entries[call.id] = Entry(isReading: call.isReading) { caller, reader in
                let parts = try call.parts(of: &reader)
                return try await Self.answer(to: caller) {
                    try await isAllowed(caller, repeat each parts)
                    return try await tell(caller, try await call(caller.store.storage, repeat each parts))
                }
            }
        }
        add(RemoteCalls.enqueue) { caller, messages, queue, _ in try await caller.may(messages, to: queue) }
        add(RemoteCalls.claim, telling: { $0.told($1) }) { caller, request in try caller.may(.consume, request.queue) }
        add(RemoteCalls.settle) { caller, settlements in try await caller.may(settlements) }
        add(RemoteCalls.perform, telling: { $0.told($1) }) { caller, operations in try await caller.may(operations) }
        add(RemoteCalls.extend) { caller, extensions in
            try await caller.mayAny(of: .consume, withQueuesOf: extensions.map(\.lease.sequence), mayBeGone: true)
        }
        add(RemoteCalls.reclaim) { caller in try caller.may(.consume) }
        add(RemoteCalls.append) { caller, messages, queue, _, _ in try await caller.may(messages, to: queue) }
        add(RemoteCalls.log) { caller, query in try caller.may(.read, query.queue) }
        add(RemoteCalls.moveCursor) { caller, cursor, queue, _ in
            try caller.principal.require(cursor.scope, cursorsOf: queue)
        }
        add(RemoteCalls.messages, telling: { $0.told($1) }) { caller, query in
            if let queue = query.queue, query.sequences == [] {
                // The client asks whether the queue is there, as it does before it uses one.
                try caller.mayAny(of: .consume, .produce, .read, .operate, with: queue)
            } else if query.queue == nil, let sequences = query.sequences {
                try await caller.mayAny(of: .read, withQueuesOf: sequences, mayBeGone: true)
            } else {
                try caller.may(.read, query.queue)
            }
        }
        add(RemoteCalls.deadGroups) { caller, query in try caller.may(.read, query.queue) }
        add(RemoteCalls.waitReason, telling: { try await $0.principal.told($1, by: $0.store.storage) }) {
            caller, sequence in
            try await caller.mayAny(of: .read, withQueuesOf: [sequence])
        }
        add(RemoteCalls.status, telling: { $0.told($1) }) { caller, queue in
            if let queue {
                try caller.mayAny(of: .read, .produce, .consume, .operate, with: queue)
            } else {
                try caller.may(.read)
            }
        }
        add(RemoteCalls.configure) { caller, queue, change in
            try caller.may(.operate, queue)
            try await caller.mayShareLimits(queue, change)
        }
        add(RemoteCalls.setLimit) { caller, _, _ in try caller.may(.operate, nil) }
        add(RemoteCalls.nextExpiry) { caller, queue in try caller.mayAny(of: .produce, .read, with: queue) }
        add(RemoteCalls.limits) { caller in try caller.may(.read, nil) }
        add(RemoteCalls.groups) { caller, query in try caller.may(.read, query.queue) }
        add(RemoteCalls.apply) { caller, _, selection in try await caller.may(.operate, selection) }
        add(RemoteCalls.count) { caller, selection, _ in try await caller.may(.operate, selection) }
        add(RemoteCalls.deadWithoutKeyCount) { caller, queue, _ in
            // Whoever puts dead letters back is told how many stay.
            try caller.mayAny(of: .read, .operate, with: queue)
        }
        add(RemoteCalls.expectEnd) { caller, sequence in
            try await caller.mayAny(of: .read, withQueuesOf: [sequence])
        }
        add(RemoteCalls.prune) { caller, request in try await caller.may(request) }
        add(RemoteCalls.schedule) { caller, name, change in
            try caller.may(.operate)
            if case .put(let schedule, _) = change {
                try caller.may(.operate, schedule.queue)
                try ReservedKeys.refuse(schedule.message.uniqueKey)
            }
            try await caller.mayChange(name, by: change)
        }
        add(RemoteCalls.schedules, telling: { $0.told($1) }) { caller, name in try await caller.mayLook(at: name) }
        // What the caller may not be told of makes a page no shorter.
        entries[RemoteCalls.schedulePage.id] = Entry(isReading: RemoteCalls.schedulePage.isReading) { caller, reader in
            let query = try RemoteCalls.schedulePage.parts(of: &reader)
            return try await Self.answer(to: caller) {
                try caller.may(.read)
                return try await caller.schedules(page: query)
            }
        }
        add(RemoteCalls.fire) { caller in try caller.may(.consume) }
        add(RemoteCalls.start, telling: { try await $0.told($1) }) { caller, workflow, _ in
            try await caller.may(workflow)
        }
        add(RemoteCalls.cancel) { caller, _ in try caller.may(.operate, nil) }
        add(RemoteCalls.workflows) { caller, _ in try caller.may(.read, nil) }
        add(RemoteCalls.tasks) { caller, _ in try caller.may(.read, nil) }
        add(RemoteCalls.record) { caller, _, _, lease, _, _ in
            try await caller.mayAny(of: .consume, withQueuesOf: [lease.sequence], mayBeGone: true)
        }
        add(RemoteCalls.journal) { caller, sequence in try await caller.mayKnowSteps(of: sequence) }
        add(RemoteCalls.emit) { caller, _, target, _ in
            switch target {
            case .message(let sequence): try await caller.mayAny(of: .produce, withQueuesOf: [sequence])
            case .workflow: try caller.may(.produce, nil)
            }
        }
        add(RemoteCalls.event) { caller, _, sequence in try await caller.mayKnowSteps(of: sequence) }
        self.entries = entries
    }

    /// What a call gave, or the error that the store threw, as the caller is told of it.
    private static func answer<Answer: WireValue>(
        to caller: StoreCaller, _ call: () async throws -> Answer
    ) async throws -> StoreAnswerBytes {
        let result: Result<Answer, any Error>
        do {
            result = .success(try await call())
        } catch let error as CancellationError {
            // The server stops, and the call has not begun.
            throw error
        } catch let problem as Problem {
            // The store throws none: the caller may not be told.
            throw problem
        } catch {
            result = .failure((error as? PenstockError)?.toldToClients ?? error)
        }
        return StoreAnswerBytes(result, now: caller.store.time.now)
    }
}
