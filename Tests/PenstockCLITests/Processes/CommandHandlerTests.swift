import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockCLI

/// What becomes of a message when its command has ended.
@Suite(.timeLimit(.minutes(5)))
struct CommandHandlerTests {
    /// The command has done its work; that somebody else writes the file for a moment must not have it done again.
    @Test(arguments: [FaultyStore.Side.before, .after])
    func aStoreThatStallsDoesNotHaveTheCommandRunAgain(side: FaultyStore.Side) async throws {
        let time = ManualTime()
        let calls = FaultyStore(InMemoryDatabase(time: time, random: SeededRandom(seed: 7)).open())
        let store = PenstockStore(calls, options: .init(time: time, random: SeededRandom(seed: 8)))
        let queue = try await store.queue("q", codec: BytesCodec())
        let receipt = try await queue.enqueue(Array("text".utf8))
        let command = Command(path: "/bin/cat", name: "cat", arguments: [])
        let handler = CommandHandler(command: command, use: .result, inherited: [:])
        calls.fail(.settle, side, with: PenstockError(.busy, "Somebody else writes."))
        let runs = Tally()
        let hand = Task {
            while !Task.isCancelled {
                // Time stands still while the command runs, and goes on when its result was not taken.
                if calls.calls(of: .settle).count > 0 { time.advance(by: .milliseconds(100)) }
                await giveWay()
            }
        }
        defer { hand.cancel() }
        try await Guardians.use { guardians in
            let stops = StopRequests()
            try await Worker(queue, options: .init(max: 1)) { delivery in
                runs.add()
                try await handler.handle(delivery, in: guardians, stops: stops)
            }.run()
        }
        #expect(runs.count == 1)
        #expect(try await store.message(receipt.sequence).state == .done)
        #expect(try await store.journal(of: receipt.sequence).result == Array("text".utf8))
    }
}
