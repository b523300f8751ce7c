import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What tasks give, what others make of it, and what they add.
@Suite(.timeLimit(.minutes(5))) struct ResultTests {
    let the = Fixture()

    struct Charge: Codable, Equatable {
        var cents: Int
    }

    @Test func whatATaskGaveIsThereForOthers() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let charge = try workflow.add("charge", 1, to: queue)
        let bytes = try workflow.add("bytes", 2, to: queue)
        try workflow.add("mail", 3, to: queue, after: charge, bytes)
        try await the.store.start(workflow)
        try await the.drain(queue) { delivery in
            switch delivery.payload {
            case 1: try await delivery.done(result: Charge(cents: 1900))
            case 2: try await delivery.done(result: [0, 255] as [UInt8])
            default:
                #expect(try await delivery.result(of: "charge", as: Charge.self) == Charge(cents: 1900))
                #expect(try await delivery.result(of: "bytes", as: [UInt8].self) == [0, 255])
                #expect(try await delivery.result(of: "mail", as: Int.self) == nil)
                #expect(await the.code { _ = try await delivery.result(of: "x", as: Int.self) } == .unknownTask)
                #expect(await the.code { _ = try await delivery.result(of: "charge", as: Int.self) } == .undecodable)
            }
        }
        #expect(try await the.store.result(of: "charge", in: "w", as: Charge.self) == Charge(cents: 1900))
        #expect(try await the.store.workflow("w").state == .done)
    }

    @Test func aMessageThatIsNoTaskHasAResultToo() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { [the] delivery in
            #expect(await the.code { _ = try await delivery.result(of: "x", as: Int.self) } == .invalidInput)
            #expect(await the.code { _ = try await delivery.dependencies() } == .invalidInput)
            #expect(await the.code { try await delivery.done(adding: Workflow()) } == .invalidInput)
            let large = [UInt8](repeating: 0, count: Limits.resultBytesMax + 1)
            #expect(await the.code { try await delivery.done(result: large) } == .invalidInput)
            try await delivery.done(result: "all")
        }
        #expect(try await the.store.journal(of: receipt.sequence).result == Array(#""all""#.utf8))
    }

    @Test(arguments: [true, false])
    func addedTasksAreWaitedForWhenTheyAreToBe(isAwaited: Bool) async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        let split = try workflow.add("split", 0, to: queue)
        try workflow.add("join", 9, to: queue, after: split)
        try await the.store.start(workflow)
        let ran = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in
            ran.withLock { $0.append(delivery.payload) }
            guard delivery.payload == 0 else { return }
            var more = Workflow()
            let parts = try more.add("part", contentsOf: [1, 2], to: queue)
            try more.add("check", 3, to: queue, after: parts)
            try await delivery.done(result: 2, adding: more, isAwaited: isAwaited)
        }
        #expect(ran.withLock { $0 } == (isAwaited ? [0, 1, 2, 3, 9] : [0, 9, 1, 2, 3]))
        #expect(try await the.store.result(of: "split", in: "w", as: Int.self) == 2)
    }

    @Test func tasksThatCannotBeAddedLeaveTheMessageHeld() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        try workflow.add("a", 0, to: queue)
        let receipt = try await the.store.start(workflow).receipts.values.first
        try await the.drain(queue) { [the] delivery in
            var taken = Workflow()
            try taken.add("a", 1, to: queue)
            #expect(await the.code { try await delivery.done(adding: taken) } == .invalidInput)
            var other = Workflow("x")
            try other.add("b", 1, to: queue)
            #expect(await the.code { try await delivery.done(adding: other) } == .invalidInput)
            #expect(try await the.state(try #require(receipt)) == .leased)
        }
        #expect(try await the.store.tasks(of: "w").map(\.state) == [.done])
    }

    /// Its worker would wait for room that only workers of the queue can make, and they could all stand there.
    @Test func noTaskWaitsForRoomInItsOwnQueue() async throws {
        let queue = try await the.queue(policy: .holding(1, .wait))
        var workflow = Workflow("w")
        try workflow.add("a", 0, to: queue)
        try await the.store.start(workflow)
        let codes = Mutex<[PenstockError.Code?]>([])
        try await Worker(queue, options: .init(max: 1)) { [the] delivery in
            _ = try await queue.enqueue(1)
            var more = Workflow()
            try more.add("b", 1, to: queue)
            let code = await the.code { [more] in try await delivery.done(adding: more) }
            codes.withLock { $0.append(code) }
            try await delivery.done()
        }.run()
        #expect(codes.withLock { $0 } == [.queueFull])
    }

    @Test(arguments: [FaultyStore.Side.before, .after])
    func aResultThatTheStoreDidNotTakeIsOfferedAgain(side: FaultyStore.Side) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let runs = Tally()
        the.calls.fail(.settle, side, with: PenstockError(.busy, "Somebody else writes."))
        try await the.whileTimePasses { [the] in
            try await the.drain(queue) { delivery in
                runs.add()
                try await delivery.doneWhileHeld(result: [1, 2])
            }
        }
        #expect(runs.count == 1)
        #expect(try await the.state(receipt) == .done)
        #expect(try await the.store.journal(of: receipt.sequence).result == [1, 2])
    }
}
