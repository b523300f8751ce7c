import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

/// What others see of a queue while it is deleted, and what a death in the middle leaves.
enum DeletionRules {
    static let cases: ConformanceCase.Rules = [
        "refuses what comes while it is under way": refusesWhatComes,
        "gives nothing and changes nothing while it is under way": givesNothing,
        "goes on when it is asked for again": goesOn,
        "brings back no task of the queue": bringsNothingBack,
    ]

    /// More messages than any store removes at once.
    private static let count = 2500

    private static func fill(_ store: any MessageStore) async throws {
        let batch = (1...count).map { NewMessage.text("\($0)") }
        _ = try await store.append(batch, to: .jobs, unless: nil, durability: .processCrash)
    }

    static func refusesWhatComes(_ bench: Bench) async throws {
        let other = try await bench.open(.steady())
        let accepted = Mutex(0)
        let steps = Tally()
        let store = try await bench.open(afterStep: { () async throws in
            await expect(.queueDeleting) {
                try await other.put("late")
                accepted.withLock { $0 += 1 }
            }
            await expect(.queueDeleting) {
                _ = try await other.append([.text("late")], to: .jobs, unless: nil, durability: .processCrash)
                accepted.withLock { $0 += 1 }
            }
            #expect(try await other.queueStatus().isDeleting)
            steps.add()
        })
        try await fill(store)
        try await store.configure(.jobs, .delete(force: false))
        #expect(steps.count > 0 || !bench.hasSteps, "Nothing was looked at between two steps.")
        #expect(accepted.withLock { $0 } == 0, "What is accepted is never deleted by a call that did not know of it.")
        await expect(.unknownQueue) { try await other.put("x") }
        #expect(try await other.messages(MessageQuery()).isEmpty)
        try await other.configure(.jobs, .create(.steady(), ifAbsent: false))
        #expect(try await !other.queueStatus().isDeleting)
        try await other.put("new")
        #expect(try await other.drain() == ["new"])
    }

    static func givesNothing(_ bench: Bench) async throws {
        let other = try await bench.open(.steady())
        let dead = try await other.put("dead")
        try await other.work(.dead(error: "bad"))
        try await fill(other)
        // There until the last step.
        let last = try await other.put("dead as well")
        try await other.work(.dead(error: "bad"))
        try await other.put("ready")
        let steps = Tally()
        let store = try await bench.open(afterStep: { () async throws in
            #expect(try await other.take(9).isEmpty)
            for change in [QueueChange.pause, .resume, .set(.steady(5)), .create(.steady(), ifAbsent: true)] {
                await expect(.queueDeleting) { try await other.configure(.jobs, change) }
            }
            await expect(.queueDeleting) { try await other.apply(.redrive, to: .queue(.jobs, states: [.dead])) }
            await expect(.queueDeleting) { try await other.apply(.redrive, to: .sequences([last])) }
            steps.add()
        })
        await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        #expect(try await !other.queueStatus().isDeleting, "A deletion that was refused has not begun.")
        #expect(try await other.state(of: dead) == .dead)
        try await store.configure(.jobs, .delete(force: true))
        #expect(steps.count > 0 || !bench.hasSteps, "Nothing was looked at between two steps.")
        #expect(try await other.status(of: nil).queues.isEmpty)
    }

    static func goesOn(_ bench: Bench) async throws {
        struct Death: Error {}
        let steps = Mutex(0)
        let other = try await bench.open(.steady())
        let store = try await bench.open(afterStep: { () async throws in
            if steps.withLock({
                $0 += 1; return $0
            }) == 2 {
                throw Death()
            }
        })
        try await fill(other)
        var hasDied = false
        do {
            try await store.configure(.jobs, .delete(force: false))
        } catch is Death {
            hasDied = true
            let left = try await other.depths().kept
            #expect(left > 0)
            #expect(left < count)
            #expect(try await other.queueStatus().isDeleting)
            await expect(.queueDeleting) { try await other.put("late") }
            try await other.configure(.jobs, .delete(force: false))
        }
        #expect(hasDied || !bench.hasSteps, "A death between two steps ends the deletion.")
        await expect(.unknownQueue) { try await other.put("late") }
        #expect(try await other.messages(MessageQuery()).isEmpty)
    }

    /// Its parent is in another queue, and is redriven while the queue goes.
    static func bringsNothingBack(_ bench: Bench) async throws {
        let other = try await bench.open(.steady(), mail: .steady())
        let tasks: [NewTask] = [
            .of("parent", queue: .mail), .of("child", after: [Dependency(on: .named("parent"))]),
        ]
        try await other.begin(tasks: tasks)
        let parent = try await other.work(.dead(error: "bad"), from: .mail)
        try await fill(other)
        let redriven = Tally()
        let store = try await bench.open(afterStep: { () async throws in
            guard try await other.state(of: parent) == .dead else { return }
            #expect(try await other.apply(.redrive, to: .sequences([parent])) == 1)
            redriven.add()
        })
        try await store.configure(.jobs, .delete(force: false))
        #expect(redriven.count == 1 || !bench.hasSteps)
        #expect(try await other.status(of: nil).queues.map(\.name) == [.mail])
        // A store that deletes in one step has let nobody in between.
        if try await other.state(of: parent) == .dead {
            #expect(try await other.apply(.redrive, to: .sequences([parent])) == 1)
        }
        #expect(try await other.drain(.mail) == ["parent"])
    }
}
