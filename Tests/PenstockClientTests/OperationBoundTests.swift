import Penstock
import PenstockCore
import Testing

@testable import PenstockClient

/// What goes with a call or among others in one: claims, verdicts, tasks and schedules in queues that are not the caller's.
@Suite(.timeLimit(.minutes(5))) struct OperationBoundTests {
    private let mail = TokenServer.mail
    private let other = TokenServer.other

    private func claim(_ queue: QueueName) -> StoreOperation {
        .claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(30)))
    }

    private func put(_ store: PenstockStore, in queue: QueueName) async throws -> SequenceNumber {
        let message = NewMessage(payload: [1])
        return try #require(
            try await store.storage.enqueue([message], to: queue, durability: .processCrash).first
        ).sequence
    }

    private func task(_ name: String, in queue: QueueName) -> NewTask {
        NewTask(TaskName(stored: name), queue: queue, message: NewMessage(payload: [1]))
    }

    /// Workers claim so. A token for another queue gets nothing, one without the scope neither, and of the audit nobody.
    @Test func aClaimAmongOtherOperationsAsksForItsQueue() async throws {
        try await TokenServer.run { (store, open) async throws in
            let audit = QueueName(stored: "penstock.audit")
            _ = try await store.queue(audit.text)
            for queue in [mail, other, audit] { _ = try await put(store, in: queue) }
            let (consumer, producer, everything) = (
                try await open("consumer"), try await open("producer"), try await open("everything")
            )
            await expect(.forbidden) { _ = try await consumer.perform([claim(other)]) }
            await expect(.forbidden) { _ = try await consumer.perform([claim(mail), claim(other)]) }
            await expect(.forbidden) { _ = try await producer.perform([claim(mail)]) }
            await expect(.forbidden) { _ = try await everything.perform([claim(audit)]) }
            for queue in try await store.storage.status(of: nil).queues {
                #expect(queue.depths.ready == 1 && queue.depths.leased == 0, "\(queue.name)")
            }
            #expect(try await consumer.perform([claim(mail)]).answers.count == 1)
            #expect(try await store.storage.status(of: mail).queues.map(\.depths.leased) == [1])
            for client in [consumer, producer, everything] { try await client.close() }
        }
    }

    /// A worker hands verdicts in with its next claim.
    @Test func verdictsAmongOtherOperationsAskForTheirQueues() async throws {
        try await TokenServer.run { (store, open) async throws in
            for queue in [mail, other] { _ = try await put(store, in: queue) }
            let foreign = try #require(
                try await store.storage.claim(ClaimRequest(queue: other, limit: 1, lease: .seconds(3600))).messages
                    .first
            ).lease
            let team = try await open("team")
            let request = ClaimRequest(queue: mail, limit: 1, lease: .seconds(3600))
            let own = try #require(try await team.claim(request).messages.first).lease
            let draft = Draft(NewMessage(payload: [2]), to: other)
            let refused = [Settlement(foreign, .done), Settlement(own, .done, drafts: [draft])]
            for verdict in refused {
                await expect(.forbidden) { _ = try await team.perform([.settle([verdict])]) }
                await expect(.forbidden) { _ = try await team.perform([.settle([verdict]), claim(mail)]) }
            }
            for sequence in [own.sequence, foreign.sequence] {
                #expect(try await store.message(sequence).state == .leased)
            }
            #expect(try await store.storage.status(of: other).queues.map(\.totals.enqueued) == [1])
            #expect(try await team.perform([.settle([Settlement(own, .done)])]).answers.count == 1)
            #expect(try await store.message(own.sequence).state == .done)
            try await team.close()
        }
    }

    /// A workflow goes through several queues, and each has to be one of its starter's; so has each to which a task adds others.
    @Test func tasksComeIntoQueuesOfTheirCallerAlone() async throws {
        try await TokenServer.run { (store, open) async throws in
            let (producer, team) = (try await open("producer"), try await open("team"))
            for tasks in [[task("a", in: other)], [task("a", in: mail), task("b", in: other)]] {
                for client in [producer, team] {
                    await expect(.forbidden) {
                        _ = try await client.start(NewWorkflow(tasks: tasks), durability: .processCrash)
                    }
                }
            }
            let workflow = NewWorkflow(WorkflowName(stored: "own"), tasks: [task("a", in: mail)])
            #expect(try await team.start(workflow, durability: .processCrash).isNew)
            let request = ClaimRequest(queue: mail, limit: 1, lease: .seconds(3600))
            let lease = try #require(try await team.claim(request).messages.first).lease
            for added in [[task("b", in: other)], [task("b", in: mail), task("c", in: other)]] {
                let verdict = Settlement(lease, .done, added: AddedTasks(added))
                await expect(.forbidden) { _ = try await team.settle([verdict]) }
                await expect(.forbidden) { _ = try await team.perform([.settle([verdict])]) }
            }
            #expect(try await store.message(lease.sequence).state == .leased)
            #expect(try await store.storage.status(of: other).queues.map(\.totals.enqueued) == [0])
            let verdict = Settlement(lease, .done, added: AddedTasks([task("b", in: mail)]))
            #expect(try await team.settle([verdict]) == [.settled(.done)])
            for client in [producer, team] { try await client.close() }
        }
    }

    /// A schedule goes on firing when its maker's token was taken back: it does so into his queues, and with keys that are for clients.
    @Test func aScheduleIsForAQueueOfItsMaker() async throws {
        try await TokenServer.run { (store, open) async throws in
            let team = try await open("team")
            func schedule(_ queue: QueueName, key: String? = nil) -> Schedule {
                let message = NewMessage(payload: [1], uniqueKey: key.map { UniqueKey($0) })
                return Schedule(queue: queue, spec: "@daily", message: message)
            }
            let name = ScheduleName(stored: "s")
            for replacing in [false, true] {
                await expect(.forbidden) {
                    _ = try await team.schedule(name, .put(schedule(other), replacing: replacing))
                }
                for key in ["idempotency shop 1", "amazon-sqs 1"] {
                    await expect(.invalidInput) {
                        _ = try await team.schedule(name, .put(schedule(mail, key: key), replacing: replacing))
                    }
                }
            }
            #expect(try await store.storage.schedules(nil).isEmpty)
            _ = try await team.schedule(name, .put(schedule(mail, key: "own"), replacing: false))
            await expect(.forbidden) { _ = try await team.schedule(name, .put(schedule(other), replacing: true)) }
            await expect(.invalidInput) {
                _ = try await team.schedule(name, .put(schedule(mail, key: "idempotency shop 1"), replacing: true))
            }
            let kept = try await store.storage.schedules(nil).map(\.schedule)
            #expect(kept.map(\.queue) == [mail] && kept.map(\.message.uniqueKey?.key) == ["own"])
            try await team.close()
        }
    }
}
