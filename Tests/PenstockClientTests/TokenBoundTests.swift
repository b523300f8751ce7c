import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockClient

/// How far a token reaches: its queues and no others, the audit for nobody, and no more than a call needs.
@Suite(.timeLimit(.minutes(5))) struct TokenBoundTests {
    private let mail = TokenServer.mail
    private let other = TokenServer.other

    /// A page of messages ends early when they carry much, and what is named behind them is looked at all the same.
    @Test func largeMessagesHideNoOthersBehindThem() async throws {
        try await TokenServer.run { (store, open) async throws in
            let large = NewMessage(
                payload: [1], headers: ["h": String(repeating: "x", count: Limits.headerBytesMax - 1)])
            let count = Limits.logPageBytesMax / Limits.headerBytesMax + 1
            let own = try await store.storage.enqueue(
                Array(repeating: large, count: count), to: mail, durability: .processCrash
            ).map(\.sequence)
            let secret = try await store.storage.enqueue([NewMessage(payload: [2])], to: other, durability: .powerLoss)
            let all = own + secret.map(\.sequence)
            let team = try await open("team")
            await expect(.forbidden) {
                _ = try await team.messages(MessageQuery(sequences: all, after: own.last, withPayload: true))
            }
            await expect(.forbidden) { _ = try await team.apply(.cancel, to: .sequences(all)) }
            await expect(.forbidden) { _ = try await team.count(.sequences(all), for: .cancel) }
            let leases = all.map { Lease(sequence: $0, token: LeaseToken(rawValue: 7)) }
            await expect(.forbidden) { _ = try await team.settle(leases.map { Settlement($0, .done) }) }
            await expect(.forbidden) { _ = try await team.extend(leases.map { LeaseExtension($0, by: .seconds(1)) }) }
            #expect(try await team.messages(MessageQuery(sequences: own, after: own[own.count - 2])).count == 1)
            try await team.close()
        }
    }

    /// What the server writes down of its visitors is read by this way as well, and changed by none.
    @Test func nobodyChangesTheAudit() async throws {
        try await TokenServer.run { (store, open) async throws in
            let audit = QueueName(stored: "penstock.audit")
            _ = try await store.queue(audit.text, policy: QueuePolicy(retention: Retention(age: .seconds(1000))))
            let entry = NewMessage(payload: [1])
            _ = try await store.storage.append([entry], to: audit, unless: nil, durability: .powerLoss)
            let everything = try await open("everything")
            await expect(.forbidden) { _ = try await everything.enqueue([entry], to: audit, durability: .powerLoss) }
            await expect(.forbidden) {
                _ = try await everything.append([entry], to: audit, unless: nil, durability: .powerLoss)
            }
            await expect(.forbidden) {
                _ = try await everything.perform([.enqueue([entry], to: audit, durability: .powerLoss)])
            }
            await expect(.forbidden) {
                _ = try await everything.claim(ClaimRequest(queue: audit, limit: 1, lease: .seconds(30)))
            }
            for change in [.pause, .delete(force: true), .set(QueuePolicy()), .create(QueuePolicy(), ifAbsent: true)]
                as [QueueChange]
            {
                await expect(.forbidden) { try await everything.configure(audit, change) }
            }
            for queue in [audit, nil] {
                await expect(.forbidden) {
                    _ = try await everything.prune(PruneRequest(queue: queue, retention: Retention(count: 0)))
                }
            }
            #expect(try await everything.prune(PruneRequest()).messages == 0)
            #expect(try await everything.log(LogQuery(queue: audit, .last(10))).records.count == 1)
            #expect(try await everything.moveCursor(CursorName("archive"), of: audit, .place(after: nil)) != nil)
            try await everything.close()
        }
    }

    /// An operator of a queue puts its dead letters back by a command as by JSON; a replay is carried out by its caller, who reads
    /// and enqueues, and looks at no other queue for it.
    @Test func commandsAskForNoMoreThanTheyDo() async throws {
        try await TokenServer.run { (store, open) async throws in
            let handler = try await open("operator")
            #expect(try await handler.deadWithoutKeyCount(of: other, group: nil) == 0)
            await expect(.forbidden) { _ = try await handler.deadWithoutKeyCount(of: mail, group: nil) }
            await expect(.forbidden) {
                _ = try await handler.messages(MessageQuery(queue: other, withPayload: true))
            }
            let team = PenstockStore(try await open("team"))
            try await store.queue("mail").enqueue([1])
            try await store.queue("mail").purge()
            #expect(try await team.replay(MessageQuery(queue: mail), dryRun: true) == 1)
            #expect(try await team.replay(MessageQuery(queue: mail)) == 1)
            await expect(.forbidden) { _ = try await team.replay(MessageQuery(queue: mail), into: other) }
            for client in [handler.close, team.close] { try await client() }
        }
    }

    /// As by the JSON API: the status and the schedules are those of its queues.
    @Test func ofTheWholeStoreATokenIsToldOfItsQueues() async throws {
        try await TokenServer.run { (store, open) async throws in
            let (own, others) = (ScheduleName(stored: "own"), ScheduleName(stored: "others"))
            for (name, queue) in [(own, mail), (others, other)] {
                let schedule = Schedule(queue: queue, spec: "@daily", message: NewMessage(payload: [1]))
                _ = try await store.storage.schedule(name, .put(schedule, replacing: false))
                _ = try await store.storage.moveCursor(CursorName("reader"), of: queue, .place(after: nil))
            }
            let team = try await open("team")
            let status = try await team.status(of: nil)
            #expect(status.queues.map(\.name) == [mail] && status.cursors.map(\.queue) == [mail])
            #expect(status.workers.isEmpty)
            #expect(try await team.schedules(nil).map(\.name) == [own])
            #expect(try await team.schedules(own).map(\.name) == [own])
            let everything = try await open("everything")
            #expect(try await everything.schedules(nil).count == 2)
            #expect(try await everything.status(of: nil).queues.count == 2)
            for client in [team, everything] { try await client.close() }
        }
    }

    /// The server reads no more than the page. What a token is not told of makes none shorter, as a short page is the last one.
    @Test func schedulesComeByPages() async throws {
        try await TokenServer.run { (store, open) async throws in
            // Two are more than a page has room for.
            let half = NewMessage(payload: [UInt8](repeating: 1, count: Limits.logPageBytesMax / 2 + 1))
            for (name, queue) in [("a", other), ("b", mail), ("c", other), ("d", mail), ("e", mail)] {
                let schedule = Schedule(queue: queue, spec: "@daily", message: half)
                _ = try await store.storage.schedule(ScheduleName(name), .put(schedule, replacing: false))
            }
            let team = try await open("team")
            func names(after name: String? = nil, limit: Int = 100) async throws -> [String] {
                let query = ScheduleQuery(after: name.map { ScheduleName(stored: $0) }, limit: limit)
                return try await team.schedules(page: query).map(\.name.text)
            }
            #expect(try await names() == ["b", "d"])
            #expect(try await names(after: "d") == ["e"])
            #expect(try await names(after: "e") == [])
            #expect(try await names(limit: 1) == ["b"])
            #expect(try await names(after: "b", limit: 1) == ["d"])
            await expect(.invalidInput) { _ = try await team.schedules(page: ScheduleQuery(limit: 0)) }
            try await team.close()
        }
    }

    /// A refusal is about the queue where the token has a scope that would do.
    @Test func aRefusalSaysWhatIsInTheWay() async throws {
        try await TokenServer.run { (store, open) async throws in
            let sequence = try await store.queue("other").enqueue([1]).sequence
            let team = try await open("team")
            func refusal(_ body: () async throws -> Void) async -> String? {
                do { try await body() } catch { return (error as? PenstockError)?.message }
                return nil
            }
            let looked = await refusal { _ = try await PenstockStore(team).queue("other", create: false) }
            #expect(looked == "The token 'team' may not work on the queue 'other': its queues are others.")
            let onlooker = try await open("onlooker")
            let refused = "The token 'onlooker' may not look at the queue 'other': its queues are others."
            let query = MessageQuery(queue: other, sequences: [])
            #expect(await refusal { _ = try await onlooker.messages(query) } == refused)
            #expect(await refusal { _ = try await onlooker.status(of: other) } == refused)
            // A number tells no queue's name.
            #expect(
                await refusal { _ = try await onlooker.journal(of: sequence) }
                    == "The token 'onlooker' may not look at message \(sequence): its queues are others.")
            for client in [team, onlooker] { try await client.close() }
        }
    }

    /// A producer that starts a workflow of a name that is taken learns what it may know of that one, and no more.
    @Test func aStartTellsNothingOfAnothersWorkflow() async throws {
        try await TokenServer.run { (store, open) async throws in
            func workflow(_ queue: QueueName) throws -> NewWorkflow {
                NewWorkflow(
                    try WorkflowName("w"),
                    tasks: [NewTask(try TaskName("t"), queue: queue, message: NewMessage(payload: [1]))])
            }
            _ = try await store.storage.start(try workflow(other), durability: .powerLoss)
            let producer = try await open("producer")
            await expect(.forbidden) { _ = try await producer.start(try workflow(mail), durability: .powerLoss) }
            let own = NewWorkflow(try WorkflowName("own"), tasks: try workflow(mail).tasks)
            #expect(try await producer.start(own, durability: .powerLoss).isNew)
            #expect(try await producer.start(own, durability: .powerLoss).receipts.count == 1)
            try await producer.close()
        }
    }
}
