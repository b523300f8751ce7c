import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQS

/// A server whose store goes by the clock of a database's server, which somebody sets back.
@Suite(.timeLimit(.minutes(5))) struct ClockSetBackTests {
    /// Wall clock and boot clock in one.
    private struct DatabaseTime: TimeSource {
        let hands = ManualTime()

        var now: Timestamp { hands.now }
        var boot: BootTime { BootTime(bootID: "server", microseconds: hands.now.microseconds) }

        func sleep(until deadline: Timestamp) async throws { try await hands.sleep(until: deadline) }
    }

    private let time = DatabaseTime()

    private func setBack() { time.hands.set(wall: time.now - .seconds(1200)) }

    @Test func aWaitDoesNotLastLongerForIt() {
        let patience = Patience(.seconds(20), time)
        time.hands.advance(by: .seconds(5))
        #expect(patience.left == .seconds(15))
        setBack()
        #expect(patience.left == nil)
        #expect(Patience(.zero, time).left == nil)
    }

    @Test func whatIsKnownOfQueuesIsReadAnew() async throws {
        let counted = CountingStore(TestDatabase().open())
        let mail = QueueName(stored: "mail")
        try await counted.configure(mail, .create(QueuePolicy(), ifAbsent: false))
        let directory = QueueDirectory(store: counted, time: time)
        for _ in 1...2 { _ = try await directory.settings(of: mail) }
        #expect(counted.statuses.withLock { $0.count } == 1)
        setBack()
        _ = try await directory.settings(of: mail)
        #expect(counted.statuses.withLock { $0.count } == 2)
    }
}
