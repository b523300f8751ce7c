import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct FaultyStoreTests {
    private let jobs = QueueName(stored: "jobs")
    private let diskFull = PenstockError(.diskFull, "No room is left.")

    private func store() async throws -> FaultyStore {
        let store = FaultyStore(InMemoryStore(time: ManualTime(), random: SeededRandom(seed: 1)))
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        return store
    }

    private func put(_ store: FaultyStore) async throws {
        _ = try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
    }

    private func count(_ store: FaultyStore) async throws -> Int? {
        try await store.status(of: jobs).queues.first?.depths.ready
    }

    @Test func aFaultBeforeTheCallLeavesNothing() async throws {
        let store = try await store()
        store.fail(.enqueue, at: 2, .before, with: diskFull)
        try await put(store)
        #expect(await errorCode { try await put(store) } == .diskFull)
        #expect(try await count(store) == 1)
        try await put(store)
        #expect(try await count(store) == 2, "It strikes once.")
    }

    @Test func aFaultAfterTheCallLeavesItsEffect() async throws {
        let store = try await store()
        store.fail(.enqueue, .after, with: diskFull)
        #expect(await errorCode { try await put(store) } == .diskFull)
        #expect(try await count(store) == 1)
    }

    @Test func faultsCountFromWhenTheyAreAskedFor() async throws {
        let store = try await store()
        try await put(store)
        store.fail(.enqueue)
        store.fail(.enqueue, at: 3, with: diskFull)
        #expect(await errorCode { try await put(store) } == .storage)
        try await put(store)
        #expect(await errorCode { try await put(store) } == .diskFull)
        try await put(store)
    }

    @Test(arguments: FaultyStore.Call.allCases)
    func everyCallCanFail(_ call: FaultyStore.Call) async throws {
        let store = try await store()
        let workflow = try NewWorkflow(
            WorkflowName("w"), tasks: [NewTask(TaskName("t"), queue: jobs, message: NewMessage(payload: []))])
        let task = try #require(try await store.start(workflow, durability: .processCrash).receipts.first).sequence
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
        let lease = try #require(claim.messages.first).lease
        store.fail(call, with: diskFull)
        func make() async throws {
            switch call {
            case .enqueue: try await put(store)
            case .claim: _ = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
            case .settle: _ = try await store.settle([Settlement(lease, .done)])
            case .extend: _ = try await store.extend([lease], by: .seconds(30))
            case .reclaim: _ = try await store.reclaim()
            case .append: _ = try await store.append([], to: jobs, unless: nil, durability: .processCrash)
            case .log: _ = try await store.log(LogQuery(queue: jobs, .last(1)))
            case .moveCursor: try await store.moveCursor(CursorName("c"), of: jobs, .place(after: nil))
            case .messages: _ = try await store.messages(MessageQuery())
            case .deadGroups: _ = try await store.deadGroups(DeadGroupQuery())
            case .waitReason: _ = try await store.waitReason(of: task)
            case .status: _ = try await store.status(of: nil)
            case .configure: try await store.configure(jobs, .pause)
            case .setLimit: try await store.setLimit(LimitName("l"), to: 1)
            case .limits: _ = try await store.limits()
            case .groups: _ = try await store.groups(GroupQuery(queue: jobs))
            case .expectEnd: _ = try await store.expectEnd(of: lease.sequence)
            case .apply: _ = try await store.apply(.cancel, to: .queue(jobs, states: [.ready]))
            case .count: _ = try await store.count(.queue(jobs, states: [.ready]), for: .cancel)
            case .prune: _ = try await store.prune(PruneRequest())
            case .schedule:
                let schedule = Schedule(queue: jobs, spec: "@daily", message: NewMessage(payload: []))
                try await store.schedule(ScheduleName("s"), .put(schedule, replacing: false))
            case .schedules: _ = try await store.schedules(nil)
            case .fire: _ = try await store.fire()
            case .start: _ = try await store.start(workflow, durability: .processCrash)
            case .cancel: _ = try await store.cancel(WorkflowName("w"))
            case .workflows: _ = try await store.workflows(WorkflowQuery())
            case .tasks: _ = try await store.tasks(TaskQuery(WorkflowName("w")))
            case .record: _ = try await store.record(StepName("s"), result: [], on: lease, extendingBy: nil)
            case .journal: _ = try await store.journal(of: task)
            case .emit:
                _ = try await store.emit(NewEvent(EventName("e")), to: .message(task), durability: .processCrash)
            case .event: _ = try await store.event(EventName("e"), for: task)
            case .close: try await store.close()
            }
        }
        #expect(await errorCode(make) == .diskFull)
        #expect(await errorCode(make) == nil)
    }

    @Test func callsCanFailForAWhile() async throws {
        let store = try await store()
        store.fail(every: [.enqueue, .claim], with: diskFull)
        for _ in 1...3 {
            #expect(await errorCode { try await put(store) } == .diskFull)
            #expect(try await count(store) == 0)
        }
        store.fail(.status)
        store.heal()
        try await put(store)
        #expect(try await count(store) == 1)
    }

    @Test func aTestCanWaitForACall() async throws {
        let store = try await store()
        async let waited: Void = store.calls(of: .claim).wait(for: 3)
        for _ in 1...3 { _ = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))) }
        try await waited
        #expect(store.calls(of: .claim).count == 3)
        #expect(store.calls(of: .settle).count == 0)
    }

    @Test func theBellIsThatOfTheStoreUnderneath() async throws {
        let store = try await store()
        let token = store.changes.token(for: jobs)
        try await put(store)
        try await store.changes.wait(for: jobs, after: token)
    }
}
