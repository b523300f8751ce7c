import Subprocess
import Testing

@testable import PenstockCLI

/// When a command that stays is one that does not work.
@Suite(.timeLimit(.minutes(5))) struct UnreadLivesTests {
    private func life(
        _ reason: Dialogue.End = .closed, answers: Int = 0, _ job: Job? = nil, isUnread: Bool = true
    ) -> Coprocess.Life {
        Coprocess.Life(
            reason: reason, end: Command.End(status: .exited(0), errorTail: ""), answerCount: answers,
            unanswered: job, isUnread: isUnread)
    }

    /// A message that a process has.
    private func job() async throws -> Job {
        let jobs = Jobs()
        let place = jobs.join()
        let asked = Task { await jobs.ask([1]) }
        let job = try #require(await jobs.next(at: place))
        jobs.finish(job, .answered(.done([])))
        _ = await asked.value
        return job
    }

    @Test func thoseThatReadNothingCount() async throws {
        var unread = UnreadLives()
        unread.add(life())
        unread.add(life(.closed, try await job(), isUnread: true))
        #expect(unread.count == 2)
    }

    /// A message that has each process crash is no reason to say that none reads.
    @Test func oneThatReadItsMessageAndCrashedBeginsAnew() async throws {
        var unread = UnreadLives()
        let job = try await job()
        for _ in 1...11 { unread.add(life(.closed, job, isUnread: false)) }
        #expect(unread.count == 0)
        unread.add(life())
        #expect(unread.count == 1)
        unread.add(life(answers: 1))
        #expect(unread.count == 0)
    }

    @Test func oneThatWasStoppedTellsNothing() {
        var unread = UnreadLives()
        unread.add(life())
        unread.add(life(.unasked))
        unread.add(life(.stopped(.timeout)))
        #expect(unread.count == 1)
    }
}
