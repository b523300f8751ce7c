import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL

/// What one transaction rings for, whatever its jobs are and in whichever order they come. A look at the file makes up for a ring that is
/// missing, so tests of whole stores see only that somebody was late.
@Suite struct TransactionRingTests {
    private func append(in transaction: Transaction) throws {
        _ = try Appending.perform([.text("log")], to: .jobs, unless: nil, durability: .processCrash, in: transaction)
    }

    private func enqueue(_ count: Int, in transaction: Transaction) throws {
        _ = try Enqueue.perform(
            (1...count).map { .text("\($0)") }, to: .jobs, durability: .processCrash, in: transaction)
    }

    private func changeAnotherQueue(in transaction: Transaction) throws {
        try Configuring.perform(.resume, of: .mail, in: transaction)
    }

    // MARK: Several jobs

    @Test func aChangeOfAnotherQueueAndAnAppendLeaveTheMessagesToRingFor() throws {
        try RungFile().transact { transaction in
            try Configuring.perform(.resume, of: .jobs, in: transaction)
            try enqueue(5, in: transaction)
            try changeAnotherQueue(in: transaction)
            try append(in: transaction)
            #expect(transaction.rung[.jobs] == Ring(messages: 5, isForAll: true))
            try enqueue(2, in: transaction)
            #expect(transaction.rung[.jobs]?.messages == 7)
            #expect(transaction.rung[.mail]?.isForAll == true)
        }
    }

    @Test func aChangeOfAnotherQueueLeavesTheRoomToRingFor() throws {
        try RungFile(.bounded(1, .wait)).transact { transaction in
            try enqueue(1, in: transaction)
            // A producer is sent away, and what kept it out may be claimed by a later job.
            _ = try? Enqueue.perform([.text("2")], to: .jobs, durability: .processCrash, in: transaction)
            try changeAnotherQueue(in: transaction)
            try append(in: transaction)
            #expect(transaction.rung[.jobs]?.makesRoom == true)
        }
    }

    @Test func whatIsUndoneRingsForNothing() throws {
        struct Undone: Error {}
        let rung = try RungFile().transact { transaction in
            #expect(throws: Undone.self) {
                try transaction.nested { () throws -> Void in
                    try enqueue(1, in: transaction)
                    transaction.ringAll(.mail)
                    throw Undone()
                }
            }
        }
        #expect(rung.isEmpty)
    }

    // MARK: Messages that come

    @Test func whatComesIsRungFor() throws {
        let file = try RungFile()
        #expect(try file.enqueue(.text("it")) == [.jobs: Ring(messages: 1)])
        #expect(try file.enqueue(.text("later", due: .after(.seconds(9)))) == [.jobs: Ring(messages: 1)])
        #expect(try file.enqueue(.text("1"), .text("2")) == [.jobs: Ring(messages: 2)])
    }

    /// Of one that has to wait for its group workers only have to know when it expires.
    @Test func ofAMessageThatIsBlockedTheExpiryIsRungFor() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo()))
        try file.enqueue(.text("first", group: "g"))
        let plain = NewMessage.text("plain", group: "g")
        let expires = NewMessage.text("expires", group: "g", expiry: .after(.seconds(60)))
        #expect(try file.enqueue(plain) == [.jobs: Ring()])
        #expect(try file.enqueue(expires) == [.jobs: Ring(messages: 1)])
        #expect(try file.enqueue(plain, plain) == [.jobs: Ring()])
        #expect(try file.enqueue(plain, expires) == [.jobs: Ring(messages: 1)])
    }

    /// The same where it is blocked as it becomes due.
    @Test(arguments: [Expiry?.none, .after(.seconds(60))])
    func ofAMessageThatIsDueAndBlockedTheExpiryIsRungFor(expiry: Expiry?) throws {
        let file = try RungFile(QueuePolicy(groups: .fifo()))
        try file.enqueue(.text("first", group: "g"))
        #expect(try file.claim().message != nil)
        try file.enqueue(.text("later", due: .after(.seconds(1)), group: "g", expiry: expiry))
        file.time.advance(by: .seconds(1))
        let (message, rung) = try file.claim()
        #expect(message == nil)
        #expect(rung == [.jobs: Ring(messages: expiry == nil ? 0 : 1)])
    }

    @Test func whoReadsALogIsRungFor() throws {
        let file = try RungFile()
        let cursor = CursorName(stored: "reader")
        func move(_ move: CursorMove) throws -> [QueueName: Ring] {
            try file.transact { _ = try Cursors.perform(move, cursor, of: .jobs, in: $0) }
        }
        #expect(try file.transact { try append(in: $0) } == [.jobs: Ring()])
        #expect(try move(.place(after: SequenceNumber(0))) == [.jobs: Ring()])
        #expect(try move(.advance(to: SequenceNumber(1))) == [:], "Its reader has moved it, and knows.")
        #expect(try move(.remove) == [.jobs: Ring()])
    }

    // MARK: Messages that come back, and that leave

    @Test func whatComesBackIntoTheLineIsRungFor() throws {
        let file = try RungFile()
        try file.enqueue(.text("it"))
        let verdicts: [Verdict] = [
            .release, .retry(error: "e", after: .zero), .retry(error: "e", after: .seconds(9)),
        ]
        for verdict in verdicts { #expect(try file.work(verdict) == [.jobs: Ring(messages: 1)], "\(verdict)") }
        #expect(try file.apply(.redrive, to: 1) == [.jobs: Ring(messages: 1)], "It was scheduled.")
        #expect(try file.work(.dead(error: "e")) == [:])
        #expect(try file.apply(.redrive, to: 1) == [.jobs: Ring(messages: 1)], "It was dead.")

        #expect(try file.claim().message != nil)
        file.time.advance(by: .seconds(60))
        let rung = try file.transact { transaction in
            _ = try Reclaiming.perform(file.locks, MachineSuspension(asleep: { .zero }), in: transaction)
        }
        #expect(rung == [.jobs: Ring(messages: 1)], "Its lease has ended.")
    }

    @Test(arguments: [OverflowPolicy.wait, .fail]) func whatLeavesTheLineMakesRoom(whenFull: OverflowPolicy) throws {
        let file = try RungFile(.bounded(2, whenFull))
        try file.enqueue(.text("1"), .text("2", expiry: .after(.seconds(9))))
        #expect(try file.apply(.cancel, to: 1) == [.jobs: .room])
        file.time.advance(by: .seconds(9))
        let (message, rung) = try file.claim()
        #expect(message == nil)
        #expect(rung == [.jobs: .room], "It has expired.")
    }

    /// Producers wait at no queue that takes whatever comes.
    @Test func noRoomIsRungForWhereNobodyIsKeptOut() throws {
        let file = try RungFile(.bounded(2, .dropOldest))
        try file.enqueue(.text("it"))
        #expect(try file.apply(.cancel, to: 1) == [:])
    }

    @Test func theEndOfALeaseIsRungForWhereALimitKeepsMessagesBack() throws {
        let file = try RungFile(QueuePolicy(limit: 1))
        try file.enqueue(.text("1"), .text("2"))
        #expect(try file.work(.done) == [.jobs: Ring(messages: 1)])
        #expect(try file.work(.done) == [:], "It kept nothing back.")
    }

    @Test func theEndOfALeaseIsRungForInQueuesThatShareItsLimit() throws {
        let file = try RungFile()
        try file.shareLimit(of: 1)
        try file.enqueue(.text("it"))
        try file.enqueue(.text("kept back"), to: .mail)
        #expect(try file.work(.done) == [.mail: Ring(messages: 1)])
    }

    @Test func theNextMessageOfAGroupIsRungFor() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo()))
        try file.enqueue(.text("1", group: "g"), .text("2", group: "g"))
        #expect(try file.work(.done) == [.jobs: Ring(messages: 1)])
        #expect(try file.work(.done) == [:], "It was the last one.")
    }

    @Test func anEndThatIsWaitedForIsRungFor() throws {
        let file = try RungFile()
        func expectEnd(of sequence: Int64) throws {
            try file.transact { _ = try AwaitedEnds.expect(SequenceNumber(sequence), in: $0) }
        }
        for (sequence, verdict) in [(1, Verdict.done), (2, .dead(error: "e"))] as [(Int64, Verdict)] {
            try file.enqueue(.text("it"))
            try expectEnd(of: sequence)
            #expect(try file.work(verdict) == [.jobs: Ring()], "\(verdict)")
        }
        try file.enqueue(.text("cancelled"))
        try expectEnd(of: 3)
        #expect(try file.apply(.cancel, to: 3) == [.jobs: Ring()])

        try file.enqueue(.text("nobody waits"))
        #expect(try file.work(.done) == [:])
    }

    // MARK: Tasks

    private func task(_ name: String, _ queue: QueueName, after parent: String? = nil, expiry: Expiry? = nil) -> NewTask
    {
        NewTask(
            TaskName(stored: name), queue: queue, message: .text(name, expiry: expiry),
            dependencies: parent.map { [Dependency(on: TaskName(stored: $0))] } ?? [])
    }

    private func start(_ tasks: NewTask..., on file: RungFile) throws -> [QueueName: Ring] {
        try file.transact {
            _ = try Workflows.start(NewWorkflow(tasks: tasks), durability: .processCrash, in: $0)
        }
    }

    @Test func allTasksThatWaitedForOneAreRungFor() throws {
        let file = try RungFile()
        let rung = try start(
            task("first", .mail), task("a", .jobs, after: "first"), task("b", .jobs, after: "first"), on: file)
        #expect(rung == [.mail: Ring(messages: 1), .jobs: Ring()], "Readers of the log see those that wait.")
        #expect(try file.work(.done, from: .mail) == [.jobs: Ring(messages: 2)])
    }

    @Test func aTaskThatWaitedAloneIsRungFor() throws {
        let file = try RungFile()
        let rung = try start(
            task("first", .mail), task("then", .jobs, after: "first", expiry: .after(.seconds(60))), on: file)
        #expect(rung == [.mail: Ring(messages: 1), .jobs: Ring(messages: 1)], "Somebody has to know when it expires.")
        #expect(try file.work(.done, from: .mail) == [.jobs: Ring(messages: 1)])
    }
}
