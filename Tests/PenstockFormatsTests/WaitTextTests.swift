import PenstockCore
import PenstockFormats
import Testing

/// What people are told of a message that waits.
@Suite struct WaitTextTests {
    /// 2030-03-17T17:46:40Z
    private let now = Timestamp(microseconds: 1_900_000_000_000_000)

    private func message(_ state: MessageState) -> MessageRecord {
        MessageRecord(
            sequence: SequenceNumber(1), queue: QueueName(stored: "q"), state: state, attempt: 2, attemptsMax: 3,
            enqueuedAt: now, payloadBytes: 0)
    }

    /// In the moment in which it expires it has.
    @Test(arguments: [
        (1, "It expires at 2030-03-17T17:46:41Z."),
        (
            0,
            "It has expired at 2030-03-17T17:46:40Z, and ends when somebody works or prunes its queue: it does not start."
        ),
        (
            -1,
            "It has expired at 2030-03-17T17:46:39Z, and ends when somebody works or prunes its queue: it does not start."
        ),
    ])
    func whetherItHasExpiredIsSaid(seconds: Int, sentence: String) {
        var message = message(.scheduled)
        message.expiresAt = now + .seconds(seconds)
        #expect(WaitText.lines(WaitReason(message: message), at: now).last == sentence)
    }

    /// Of a process that nobody can see it is not said that it is dead.
    @Test(arguments: [true, false, nil]) func thatItsWorkerIsDeadIsSaid(isAlive: Bool?) {
        var message = message(.leased)
        message.claimedAt = now
        let holder = WaitReason.Holder(worker: 7, name: "mill:9", isAlive: isAlive)
        let lines = WaitText.lines(WaitReason(message: message, holder: holder), at: now)
        let dead = ["That process is dead; another one that works puts the message back in line."]
        #expect(
            lines == ["Message 1 of q is with worker 7 (mill:9) since 2030-03-17T17:46:40Z, attempt 2 of 3."]
                + (isAlive == false ? dead : []))
    }

    @Test func eachCauseHasItsSentence() {
        let causes: [(WaitReason.Cause, String)] = [
            (.due(now + .seconds(1), .asEnqueued), "It is due at 2030-03-17T17:46:41Z."),
            (.due(now + .seconds(1), .retry), "It is tried again at 2030-03-17T17:46:41Z: attempt 2 of 3 has failed."),
            (
                .due(now + .seconds(1), .suspended),
                "Its handler has stopped to wait, and goes on at 2030-03-17T17:46:41Z."
            ),
            (
                .task(WaitReason.Other(sequence: SequenceNumber(4), state: .dead)),
                "It waits for message 4, which is a dead letter; redrive or discard it."
            ),
            (.before(WaitReason.Count(1)), "1 message of its group comes before it."),
            (.before(WaitReason.Count(2)), "2 messages of its group come before it."),
            (.ahead(WaitReason.Count(1)), "1 message is ahead of it."),
            (.ahead(WaitReason.Count(WaitReason.countMax)), "1000 messages are ahead of it."),
            (.ahead(WaitReason.Count(WaitReason.countMax + 1)), "More than 1000 messages are ahead of it."),
            (.limit(1, leased: 1), "The queue's limit of 1 is used up: 1 is with workers."),
            (.limit(2, leased: 3), "The queue's limit of 2 is used up: 3 are with workers."),
            (.rate(opens: now), "By its rate, the queue starts nothing before 2030-03-17T17:46:40Z."),
            (.groupRate(opens: now), "By its rate, its group starts nothing before 2030-03-17T17:46:40Z."),
        ]
        let lines = WaitText.lines(WaitReason(message: message(.ready), causes: causes.map(\.0)), at: now)
        #expect(lines == ["Message 1 of q is ready."] + causes.map(\.1))
    }

    private func lines(_ causes: [WaitReason.Cause], at moment: Timestamp) -> [String] {
        WaitText.lines(WaitReason(message: message(.scheduled), causes: causes), at: moment)
    }

    /// A claim has it wait for its group, or finds that it has expired.
    @Test func whatIsDueIsNotSaidToStartWhereItMayNot() {
        var message = message(.scheduled)
        func last() -> String? {
            WaitText.lines(WaitReason(message: message, causes: [.due(now, .asEnqueued)]), at: now).dropFirst(2).first
        }
        #expect(last() == "A worker of its queue takes it up with its next claim.")
        message.group = "ada"
        #expect(last() == "A worker of its queue takes it up with its next claim, and then it goes by its group.")
        message.expiresAt = now + .seconds(1)
        #expect(last()?.hasPrefix("A worker of its queue takes it up") == true)
        message.expiresAt = now
        #expect(last()?.hasPrefix("It has expired at") == true)
    }

    /// A message stays scheduled until a claim takes it up.
    @Test(arguments: [
        (WaitReason.Delay.asEnqueued, "It is due at", "It has been due since", "."),
        (.retry, "It is tried again at", "It has been due again since", ": attempt 2 of 3 has failed."),
        (
            .suspended, "Its handler has stopped to wait, and goes on at",
            "Its handler has stopped to wait, and could go on since", "."
        ),
    ])
    func aDueTimeIsToComeOrIsOver(delay: WaitReason.Delay, before: String, after: String, end: String) {
        let moment = "2030-03-17T17:46:40Z\(end)"
        let causes = [WaitReason.Cause.due(now, delay)]
        #expect(lines(causes, at: now - .seconds(1)) == ["Message 1 of q is scheduled.", "\(before) \(moment)"])
        #expect(
            lines(causes, at: now) == [
                "Message 1 of q is scheduled.", "\(after) \(moment)",
                "A worker of its queue takes it up with its next claim.",
            ])
        #expect(
            lines(causes + [.noWorker], at: now).dropFirst() == [
                "\(after) \(moment)", "No worker that has had messages of this store is alive.",
            ])
    }
}
