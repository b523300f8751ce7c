import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Handlers that wait for what happens outside.
@Suite(.timeLimit(.minutes(5))) struct EventTests {
    let the = Fixture()

    struct Approval: Codable, Equatable {
        var by: String
    }

    @Test func anEventThatWasThereBeforeIsHadAtOnce() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        #expect(try await the.store.emit("approved", Approval(by: "Grace"), to: .message(receipt.sequence)))
        #expect(try await !the.store.emit("approved", Approval(by: "Ada"), to: .message(receipt.sequence)))
        try await the.drain(queue) { delivery in
            let approval = try await delivery.event("approved", as: Approval.self)
            #expect(approval == Approval(by: "Grace"))
        }
        #expect(try await the.state(receipt) == .done)
    }

    @Test func anEventWakesTheHandlerThatWaitsForIt() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let got = Mutex<[Approval]>([])
        let work: Worker<Int>.Handler = { delivery in
            let approval = try await delivery.event("approved", as: Approval.self)
            got.withLock { $0.append(approval) }
        }
        try await the.drain(queue, work)
        #expect(try await the.state(receipt) == .scheduled)
        #expect(try await the.store.journal(of: receipt.sequence).awaited == EventName("approved"))
        try await the.store.emit("refused", to: .message(receipt.sequence))
        #expect(try await the.state(receipt) == .scheduled)
        try await the.store.emit("approved", Approval(by: "Grace"), to: .message(receipt.sequence))
        #expect(try await the.state(receipt) == .ready)
        try await the.drain(queue, work)
        #expect(got.withLock { $0 } == [Approval(by: "Grace")])
        #expect(try await the.state(receipt) == .done)
    }

    /// A store whose answer to the first look for an event takes its time.
    private final class LateAnswer: ForwardingStore {
        let base: any MessageStore
        let meanwhile = Mutex<(@Sendable () async throws -> Void)?>(nil)

        init(_ base: any MessageStore) { self.base = base }

        func pass<Answer: Sendable>(
            _ call: StoreCall, _ body: @Sendable () async throws -> Answer
        ) async throws -> Answer {
            let answer = try await body()
            if call == .event { try await meanwhile.withLock { $0.take() }?() }
            return answer
        }
    }

    @Test func anEventThatCameInTimeIsNotMissedAsTheLookWasSlow() async throws {
        var store: LateAnswer?
        let the = Fixture { base in
            let late = LateAnswer(base)
            store = late
            return late
        }
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        store?.meanwhile.withLock {
            $0 = {
                try await the.store.emit("approved", Approval(by: "Grace"), to: .message(receipt.sequence))
                the.time.advance(by: .seconds(2))
            }
        }
        try await the.drain(queue) { delivery in
            let approval = try await delivery.event("approved", as: Approval.self, timeout: .seconds(1))
            #expect(approval == Approval(by: "Grace"))
        }
        #expect(try await the.state(receipt) == .done)
    }

    @Test func anEventThatDoesNotComeInTimeIsMissedForGood() async throws {
        struct Broken: Error {}
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let (misses, runs) = (Tally(), Tally())
        let work: Worker<Int>.Handler = { delivery in
            runs.add()
            let approval = try await delivery.event("approved", as: Approval.self, timeout: .seconds(60))
            #expect(approval == nil)
            if misses.add() == 1 { throw Broken() }
        }
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == the.time.now + .seconds(60))
        the.time.advance(by: .seconds(60))
        try await the.drain(queue, work)
        #expect((runs.count, misses.count) == (2, 1))
        // It comes after all; for this handler it has not.
        try await the.store.emit("approved", Approval(by: "Grace"), to: .message(receipt.sequence))
        the.time.advance(by: .seconds(60))
        try await the.drain(queue, work)
        #expect(misses.count == 2)
        #expect(try await the.state(receipt) == .done)
    }

    @Test func theNextWaitHasATimeOfItsOwn() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let got = Mutex<[String]>([])
        let work: Worker<Int>.Handler = { delivery in
            if try await delivery.event("e", as: String.self, timeout: .seconds(60)) == nil {
                try await delivery.step("remind") { got.withLock { $0.append("reminded") } }
                let late = try await delivery.event("e", as: String.self, timeout: .seconds(60))
                got.withLock { $0.append(late ?? "nothing") }
            }
        }
        try await the.drain(queue, work)
        the.time.advance(by: .seconds(60))
        try await the.drain(queue, work)
        #expect(try await the.record(receipt).due == the.time.now + .seconds(60))
        try await the.store.emit("e", "late", to: .message(receipt.sequence))
        try await the.drain(queue, work)
        #expect(got.withLock { $0 } == ["reminded", "late"])
    }

    @Test func allTasksOfAWorkflowSeeItsEvents() async throws {
        let queue = try await the.queue()
        var workflow = Workflow("w")
        try workflow.add("part", contentsOf: [1, 2], to: queue)
        let started = try await the.store.start(workflow)
        let got = Tally()
        let work: Worker<Int>.Handler = { delivery in
            let brought = try await delivery.event("go", as: [UInt8].self)
            #expect(brought == [])
            got.add()
        }
        try await the.drain(queue, work)
        #expect(got.count == 0)
        try await the.store.emit("go", to: .workflow(started.name))
        try await the.drain(queue, work)
        #expect(got.count == 2)
        #expect(try await the.store.workflow("w").state == .done)
        #expect(await the.code { try await the.store.emit("stop", to: .workflow(started.name)) } == .illegalTransition)
    }

    @Test func anEventOfTheWrongKindIsSaid() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.store.emit("e", "text", to: .message(receipt.sequence))
        try await the.drain(queue) { [the] delivery in
            #expect(await the.code { _ = try await delivery.event("e", as: Int.self) } == .undecodable)
            #expect(await the.code { _ = try await delivery.event("a#b", as: Int.self) } == .invalidInput)
        }
    }
}
