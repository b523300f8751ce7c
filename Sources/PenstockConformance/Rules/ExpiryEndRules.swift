import PenstockCore
import PenstockTestKit
import Testing

/// What follows when a message expires: for its group, its key, its queue's room, its workflow, and for itself if it comes back.
enum ExpiryEndRules {
    static let cases: ConformanceCase.Rules = [
        "gives its group's permit to the next one": groups,
        "frees its unique key": keys,
        "makes room in a full queue": room,
        "makes room for tasks": roomForTasks,
        "tells those that wait for a task": tasks,
        "leaves a task that is redriven waiting for what it waited for": tasksRedriven,
        "tells those that wait for its end": awaited,
        "comes with the question for its end, where nobody works": asked,
        "happens in a paused queue by a pruning": pruned,
        "is over when a message has ended otherwise": leaves,
        "is forgotten when a dead letter comes back": redriven,
        "stays with a scheduled message that is to run now": runNow,
        "counts from each firing of a schedule": schedules,
    ]

    private static func policy(
        _ whenExpired: ExpiryPolicy = .drop, groups: GroupPolicy? = nil, capacity: Capacity? = nil
    ) -> QueuePolicy {
        QueuePolicy.steady { ($0.whenExpired, $0.groups, $0.capacity) = (whenExpired, groups, capacity) }
    }

    private static let soon = Expiry.after(.seconds(10))

    static func groups(_ bench: Bench) async throws {
        let store = try await bench.open(policy(groups: .fifo()))
        try await store.put(.text("a1", group: "a", expiry: soon))
        try await store.put(.text("a2", group: "a"))
        try await store.put(.text("a3", group: "a", expiry: soon))
        try await store.put(.text("a4", group: "a"))
        #expect(try await store.depths() == .of(blocked: 3, ready: 1))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drainDone() == ["a2"])
        #expect(try await store.drainDone() == ["a4"])
        #expect(try await store.groups(GroupQuery(queue: .jobs)).isEmpty)
        // A dead letter holds its group when it was next, and not when others were before it.
        try await store.configure(.jobs, .set(policy(.dead, groups: .fifo(onDead: .hold))))
        let first = try await store.put(.text("b1", group: "b", expiry: soon)).sequence
        try await store.put(.text("b2", group: "b"))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain().isEmpty)
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.heldBy) == [first])
        #expect(try await store.apply(.redrive, to: [first]) == 1)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.drainDone() == ["b1"])
        #expect(try await store.drainDone() == ["b2"])
    }

    static func keys(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let first = try await store.put(.text("first", key: "k", expiry: soon)).sequence
        #expect(try await store.put(.text("too early", key: "k")).skipped)
        bench.time.advance(by: .seconds(10))
        // Nobody has claimed meanwhile. It never starts, so it keeps nobody out.
        let second = try await store.put(.text("second", key: "k"))
        #expect(!second.skipped)
        #expect(second.displaced == nil)
        #expect(try await store.record(first).reason == .expired)
        #expect(try await store.drain() == ["second"])
        // One that a worker has keeps its key.
        try await store.put(.text("third", key: "other", expiry: soon))
        _ = try await store.takeOne()
        bench.time.advance(by: .seconds(10))
        #expect(try await store.put(.text("fourth", key: "other")).skipped)
    }

    static func room(_ bench: Bench) async throws {
        for whenFull in OverflowPolicy.allCases {
            let queue = QueueName(stored: whenFull.rawValue)
            let store = try await bench.open()
            try await store.configure(
                queue, .create(policy(capacity: Capacity(3, whenFull: whenFull)), ifAbsent: false))
            let stays = try await store.put(.text("stays"), to: queue).sequence
            let gone = try await store.put(
                [.text("a", expiry: soon), .text("b", due: .after(.seconds(5)), expiry: soon)], to: queue)
            bench.time.advance(by: .seconds(10))
            // As many as there is room for when those are gone, in one call.
            let receipts = try await store.put([.text("c"), .text("d")], to: queue)
            #expect(receipts.map(\.state) == [.ready, .ready], "\(whenFull)")
            #expect(receipts.map(\.displaced) == [nil, nil], "\(whenFull)")
            #expect(try await store.state(of: stays) == .ready)
            for receipt in gone { #expect(try await store.record(receipt.sequence).reason == .expired) }
            #expect(try await store.drain(queue) == ["stays", "c", "d"])
        }
        // Still no room: what has expired has ended all the same.
        let store = try await bench.open(policy(capacity: Capacity(2, whenFull: .fail)))
        try await store.put([.text("a", expiry: soon), .text("b")])
        bench.time.advance(by: .seconds(10))
        await expect(.queueFull) { try await store.put([.text("c"), .text("d")]) }
        #expect(try await store.depths() == .of(ready: 1, kept: 1))
        #expect(try await store.put([.text("c", key: "k")]).map(\.state) == [.ready])
    }

    static func roomForTasks(_ bench: Bench) async throws {
        let store = try await bench.open(policy(capacity: Capacity(2, whenFull: .fail)))
        try await store.put([.text("a", expiry: soon), .text("b", expiry: soon)])
        bench.time.advance(by: .seconds(10))
        try await store.begin([("one", []), ("two", []), ("three", ["one"])])
        #expect(try await store.depths() == .of(pending: 1, ready: 2, kept: 2))
    }

    static func tasks(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let names = ["parent", "cancelled", "cleanup", "held"].map { TaskName.named($0) }
        func task(_ name: TaskName, _ needs: Dependency.Need...) -> NewTask {
            NewTask(
                name, queue: .jobs, message: .text(name.text, expiry: needs.isEmpty ? soon : nil),
                dependencies: needs.map { Dependency(on: names[0], need: $0) })
        }
        let tasks = [
            task(names[0]), task(names[1], .done()), task(names[2], .ended), task(names[3], .done(whenDead: .hold)),
        ]
        let dropped = try await store.begin(tasks: tasks)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["cleanup"])
        var states = try await store.messages(MessageQuery(sequences: dropped.receipts.map(\.sequence))).map(\.state)
        #expect(states == [.dropped, .cancelled, .leased, .cancelled])
        // As a dead letter it can still be redriven, and a task that holds on for that waits.
        try await store.configure(.jobs, .set(policy(.dead)))
        let dead = try await store.start(NewWorkflow(.named("second"), tasks: tasks), durability: .processCrash)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["cleanup"])
        states = try await store.messages(MessageQuery(sequences: dead.receipts.map(\.sequence))).map(\.state)
        #expect(states == [.dead, .cancelled, .leased, .pending])
        #expect(try await store.apply(.redrive, to: [dead.receipts[0].sequence]) == 1)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.drainDone() == ["parent"])
        #expect(try await store.drainDone() == ["cancelled", "held"])
    }

    /// A task that has expired as it waited was never told what became of those that it waits for.
    static func tasksRedriven(_ bench: Bench) async throws {
        let store = try await bench.open(policy(.dead), mail: policy())
        let names = ["open", "done", "failed"].map { TaskName.named($0) }
        func child(_ name: String, of parents: TaskName...) -> NewTask {
            NewTask(
                .named(name), queue: .jobs, message: .text(name, expiry: soon),
                dependencies: parents.map { Dependency(on: $0) })
        }
        let tasks =
            names.map { NewTask($0, queue: .mail, message: .text($0.text)) } + [
                child("after open", of: names[0], names[1]), child("after done", of: names[1]),
                child("after failed", of: names[2], names[1]),
                .of("after that", after: [Dependency(on: .named("after open"))]),
            ]
        let started = try await store.begin(tasks: tasks)
        let children = started.receipts.dropFirst(3).map(\.sequence)
        func states() async throws -> [MessageState] {
            try await store.messages(MessageQuery(sequences: children)).map(\.state)
        }
        let parents = try await store.take(3, from: .mail, lease: .seconds(600))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        #expect(try await states() == [.dead, .dead, .dead, .cancelled])
        _ = try await store.settle([
            Settlement(parents[1].lease, .done), Settlement(parents[2].lease, .dead(error: "no")),
        ])
        #expect(try await states() == [.dead, .dead, .dead, .cancelled])
        #expect(try await store.apply(.redrive, to: .sequences(Array(children.prefix(3)))) == 3)
        #expect(try await states() == [.pending, .ready, .cancelled, .pending])
        #expect(try await store.record(children[2]).reason == .parentFailed)
        #expect(try await store.give(.done, for: parents[0]) == .settled(.done))
        #expect(try await store.drainDone() == ["after open", "after done"])
        #expect(try await store.drainDone() == ["after that"])
    }

    static func awaited(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(policy())
        let sequence = try await store.put(.text("a", expiry: soon)).sequence
        #expect(try await other.expectEnd(of: sequence) == .ready)
        let token = other.changes.token(for: .jobs)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        try await other.changes.wait(for: .jobs, after: token)
        #expect(try await other.state(of: sequence) == .dropped)
    }

    static func asked(_ bench: Bench) async throws {
        let store = try await bench.open(policy(.dead))
        let sequences = try await store.put([
            .text("a", expiry: soon), .text("b", due: .after(.seconds(5)), expiry: soon),
            .text("c", priority: 1, expiry: soon),
        ]).map(\.sequence)
        let running = try await store.takeOne()
        #expect(running.sequence == sequences[2])
        for sequence in sequences { #expect(try await store.expectEnd(of: sequence).isFinished == false) }
        bench.time.advance(by: .seconds(10))
        #expect(try await store.expectEnd(of: sequences[0]) == .dead)
        #expect(try await store.expectEnd(of: sequences[1]) == .dead)
        #expect(try await store.expectEnd(of: sequences[2]) == .leased, "It has started in time.")
        #expect(try await store.record(sequences[0]).reason == .expired)
        #expect(try await store.expectEnd(of: sequences[0]) == .dead)
        #expect(try await store.give(.done, for: running) == .settled(.done))
    }

    static func pruned(_ bench: Bench) async throws {
        let store = try await bench.open(policy(), mail: policy(.dead))
        try await store.put((0..<Limits.expiryCountMax).map { .text("\($0)", expiry: soon) })
        try await store.put(.text("later", expiry: .after(.seconds(600))))
        try await store.put((0..<5).map { .text("\($0)", expiry: soon) }, to: .mail)
        for queue in [QueueName.jobs, .mail] { try await store.configure(queue, .pause) }
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        #expect(
            try await store.depths().ready == Limits.expiryCountMax + 1, "A claim from a paused queue does nothing.")
        let first = try await store.prune(PruneRequest())
        #expect(first == Pruned(hasMore: true), "One step ends so many and no more.")
        #expect(try await store.depths() == .of(ready: 1, kept: Limits.expiryCountMax))
        #expect(try await store.prune(PruneRequest(queue: .jobs)) == Pruned())
        #expect(try await store.depths(.mail).ready == 5)
        #expect(try await store.prune(PruneRequest()) == Pruned())
        #expect(try await store.depths(.mail) == .of(dead: 5))
    }

    /// Nothing is left that could expire, or that would be claimed for.
    static func leaves(_ bench: Bench) async throws {
        let store = try await bench.open(policy(groups: .limit(1)))
        let cancelled = try await store.put(.text("cancelled", expiry: soon)).sequence
        #expect(try await store.apply(.cancel, to: [cancelled]) == 1)
        try await store.put(.text("replaced", key: "k", expiry: soon))
        let replacing = try await store.put(.text("replacing", key: "k", onConflict: .replace)).sequence
        #expect(try await store.record(replacing).expiresAt == nil)
        try await store.work(.dead(error: "no"))
        try await store.put(.text("done", expiry: soon))
        try await store.work(.done)
        let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))
        #expect(try await store.claim(request).nextDue == nil)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        let reasons = try await store.messages(MessageQuery()).map(\.reason)
        #expect(reasons == [.requested, .replaced, .rejected, nil])
        try await store.configure(.jobs, .delete(force: true))
        #expect(try await store.status(of: nil).queues.isEmpty)
    }

    static func redriven(_ bench: Bench) async throws {
        let store = try await bench.open(policy(.dead))
        let expired = try await store.put(.text("expired", expiry: soon)).sequence
        let failed = try await store.put(.text("failed", expiry: .after(.seconds(20)))).sequence
        bench.time.advance(by: .seconds(10))
        #expect(try await store.work(.dead(error: "no")) == failed)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.apply(.redrive, to: [expired, failed]) == 2)
        for sequence in [expired, failed] { #expect(try await store.record(sequence).expiresAt == nil) }
        // Nor does it come back with what follows.
        try await store.work(.release)
        try await store.work(.retry(error: "no"))
        bench.time.advance(by: .seconds(60))
        #expect(try await store.drainDone() == ["expired", "failed"])
    }

    static func runNow(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let sequence = try await store.put(.text("a", due: .after(.seconds(5)), expiry: soon)).sequence
        #expect(try await store.apply(.redrive, to: [sequence]) == 1)
        #expect(try await store.state(of: sequence) == .ready)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.record(sequence).reason == .expired)
    }

    static func schedules(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let name = ScheduleName(stored: "poll")
        var schedule = Schedule(queue: .jobs, spec: "@every 60s", message: .text("poll", expiry: soon))
        let record = try await store.schedule(name, .put(schedule, replacing: false))
        #expect(record?.schedule == schedule)
        let start = bench.time.now
        bench.time.advance(by: .seconds(65))
        // The firing is five seconds late, and what came of it has its ten seconds.
        _ = try await store.fire()
        let message = try #require(try await store.messages(MessageQuery()).first)
        #expect(message.expiresAt == start + .seconds(75))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.record(message.sequence).reason == .expired)
        // With a jitter, each has its time from when it is due.
        schedule.jitter = .seconds(30)
        try await store.schedule(name, .put(schedule, replacing: true))
        bench.time.advance(by: .seconds(60))
        _ = try await store.fire()
        let putOff = try #require(try await store.messages(MessageQuery(end: .last, limit: 1)).first)
        let due = putOff.due ?? bench.time.now
        #expect(putOff.expiresAt == due + .seconds(10))
        schedule.message.expiry = .at(start + .seconds(600))
        await expect(.invalidInput) { try await store.schedule(name, .put(schedule, replacing: true)) }
    }
}
