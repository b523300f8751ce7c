import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL

/// What is rung for beside the messages that come, come back and leave (``TransactionRingTests``): changes of queues, workers that are to
/// end, what one transaction leaves to the next, and starts that are given back.
@Suite struct OperationRingTests {
    // MARK: What concerns all who wait for a queue

    @Test func aChangeOfAQueueIsRungForWithAll() throws {
        let file = try RungFile()
        for change in [QueueChange.pause, .resume, .set(QueuePolicy(groups: .fifo())), .pauseGroup("g")] {
            #expect(try file.configure(change) == [.jobs: .all], "\(change)")
        }
    }

    @Test func aSharedLimitIsRungForInTheQueuesThatShareIt() throws {
        let file = try RungFile()
        try file.shareLimit(of: 1)
        let rung = try file.transact { try Configuring.setLimit(.both, to: 2, in: $0) }
        #expect(rung == [.jobs: .all, .mail: .all])
        // What it has leased is counted out for the other.
        #expect(try file.configure(.set(QueuePolicy())) == [.jobs: .all, .mail: .all])
        #expect(try file.transact { try Configuring.setLimit(.both, to: 3, in: $0) } == [.mail: .all])
    }

    @Test func aDeletionIsRungForAsItBeginsAndEnds() throws {
        let file = try RungFile()
        try file.enqueue(.text("it"))
        #expect(try file.transact { try Deleting.begin(.jobs, force: true, in: $0) } == [.jobs: .all])
        let rung = try file.transact { transaction in
            guard case .isGone = try Deleting.step(.jobs, force: true, limit: 10, in: transaction) else {
                Issue.record("One step does for one message.")
                return
            }
        }
        #expect(rung == [.jobs: .all])
    }

    @Test func aDeletionThatIsGivenUpIsRungFor() throws {
        let file = try RungFile()
        try file.enqueue(.text("it"))
        let rung = try file.transact { transaction in
            guard case .isRefused(openCount: 1) = try Deleting.step(.jobs, force: false, limit: 10, in: transaction)
            else {
                Issue.record("A message waits there.")
                return
            }
        }
        #expect(rung == [.jobs: .all])
    }

    @Test func aMoveToAnotherStoreIsRungForEverywhere() throws {
        let file = try RungFile()
        let closed = try file.transact { transaction in
            _ = try StoreIdentity.give(in: transaction)
            _ = try Leaving.close(
                StoreCopy(source: "here", target: "there"), targetID: StoreID(rawValue: "there"), mayWait: false,
                begun: nil, in: transaction)
        }
        #expect(closed == [.jobs: .all, .mail: .all])
        let opened = try file.transact { transaction in
            let move = try Leaving.open(closedThere: nil, in: transaction)
            #expect(move?.target == "there")
        }
        #expect(opened == [.jobs: .all, .mail: .all])
    }

    /// A worker may have waited there since they were closed.
    @Test func queuesThatHaveComeAreRungForAsTheyOpen() throws {
        let (from, into) = (try RungFile(), try RungFile())
        for queue in [QueueName.jobs, .mail] {
            try into.transact { try Deleting.begin(queue, force: true, in: $0) }
            try into.transact { _ = try Deleting.step(queue, force: true, limit: 10, in: $0) }
        }
        var found: Arriving.Opening?
        try from.transact { found = try Arriving.Opening($0.connection) }
        let opening = try #require(found)
        try into.transact { transaction in
            _ = try Arriving.begin(
                "move", from: StoreID(rawValue: "here"), StoreCopy(source: "here", target: "there"),
                opening.settings, in: transaction)
        }
        let rung = try into.transact { transaction in
            try Arriving.finish("move", at: CopyBatch.Place(), opening, "there", in: transaction)
        }
        #expect(rung == [.jobs: .all, .mail: .all])
    }

    @Test func aScheduleIsRungForWhereItFires() throws {
        let file = try RungFile()
        let schedule = Schedule(queue: .jobs, spec: "* * * * *", message: .text("report"))
        func change(_ change: ScheduleChange) throws -> [QueueName: Ring] {
            try file.transact { _ = try Scheduling.perform(change, ScheduleName(stored: "nightly"), in: $0) }
        }
        #expect(try change(.put(schedule, replacing: false)) == [.jobs: .all])
        #expect(try change(.pause) == [.jobs: .all])
        #expect(try change(.resume) == [.jobs: .all])
    }

    @Test(arguments: [LineCommand.cancel, .requestCancel()]) func aWorkerHearsThatItIsToEnd(command: LineCommand) throws
    {
        let file = try RungFile()
        try file.enqueue(.text("it"))
        #expect(try file.claim().message != nil)
        #expect(try file.apply(command, to: 1) == [.jobs: .all])
    }

    // MARK: What one transaction leaves to the next

    @Test func aClaimThatEndsManyRingsForTheRest() throws {
        let file = try RungFile()
        let messages = (0...Limits.expiryCountMax).map { NewMessage.text("\($0)", expiry: .after(.seconds(1))) }
        try file.transact { _ = try Enqueue.perform(messages, to: .jobs, durability: .processCrash, in: $0) }
        file.time.advance(by: .seconds(1))
        #expect(try file.claim().rung == [.jobs: Ring(messages: 1)])
        #expect(try file.claim().rung == [:], "One was left.")
    }

    @Test func aClaimThatGivesOutManyPermitsRingsForTheRest() throws {
        let file = try RungFile(QueuePolicy(groups: .limit(1)))
        let messages = (0...Limits.regroupCountMax).map { NewMessage.text("it", group: "\($0)") }
        try file.transact { _ = try Enqueue.perform(messages, to: .jobs, durability: .processCrash, in: $0) }
        try file.configure(.set(QueuePolicy(groups: .limit(2))))
        let (nothing, rung) = try file.claim()
        #expect(nothing == nil)
        #expect(rung == [.jobs: Ring(messages: 1)])
        let (message, rungAgain) = try file.claim()
        #expect(message != nil)
        #expect(rungAgain == [:], "Two groups were left.")
    }

    /// All of them wait for their group, so nothing else of that claim wakes a worker.
    @Test func aClaimThatFindsManyDueRingsForTheRest() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo()))
        try file.enqueue(.text("first", group: "g"))
        #expect(try file.claim().message != nil)
        let messages = (0...Limits.promotionCountMax).map {
            NewMessage.text("\($0)", due: .after(.seconds(1)), group: "g")
        }
        try file.transact { _ = try Enqueue.perform(messages, to: .jobs, durability: .processCrash, in: $0) }
        file.time.advance(by: .seconds(1))
        #expect(try file.claim().rung == [.jobs: Ring(messages: 1)])
        #expect(try file.claim().rung == [.jobs: Ring()], "One was left.")
    }

    /// What becomes of the others of its group is left to the next claim.
    @Test func aMessageOfAGroupThatIsSetAsideIsRungFor() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo()))
        try file.enqueue(.text("broken", group: "g"), .text("next", group: "g"))
        let rung = try file.transact { transaction in
            let account = try transaction.account(of: .jobs)
            try Quarantine.setAside(
                .ready, 1, of: account.id, because: Quarantine.Reason.attempt, in: transaction)
        }
        #expect(rung == [.jobs: Ring(messages: 1)])
    }

    // MARK: Starts

    /// Of the messages that a rate keeps back one may start in its place, though the message itself does not come back.
    @Test func aStartThatIsGivenBackIsRungFor() throws {
        let file = try RungFile(QueuePolicy(rate: Rate(1, per: .seconds(3600))))
        try file.enqueue(.text("cancelled"), .text("kept back"))
        let message = try #require(try file.claim().message)
        #expect(try file.apply(.requestCancel(), to: 1) == [.jobs: .all])
        #expect(try file.settle(.unbegun(message.lease)) == [.jobs: Ring(messages: 1)])
        #expect(try file.claim().message != nil)
    }

    /// The worker that claims may be busy with that message for longer.
    @Test func aGroupThatHasToWaitIsRungForToTellWhen() throws {
        let file = try RungFile(QueuePolicy(groups: .limit(2), ratePerKey: Rate(1, per: .seconds(10))))
        try file.enqueue(.text("1", group: "g"), .text("2", group: "g"))
        let (message, rung) = try file.claim()
        #expect(message != nil)
        #expect(rung == [.jobs: Ring(messages: 1)])
    }
}
