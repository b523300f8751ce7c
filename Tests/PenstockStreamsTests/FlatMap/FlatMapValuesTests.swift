import PenstockStreams
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct FlatMapValuesTests {
    let the = FlatMapFixture()

    @Test func valuesComeOutAsTheyArrive() async throws {
        let came = Tally()
        let result = collect(the.flatMap(maxConcurrent: 2), came)
        the.upstream.send(0)
        the.upstream.send(1)
        the.upstream.finish()
        for (count, (source, value)) in [(0, 10), (1, 20), (1, 21), (0, 11), (1, 22)].enumerated() {
            the.inner[source].send(value)
            try await came.wait(for: count + 1)
        }
        the.inner[0].finish()
        the.inner[1].finish()
        #expect(await result.value == ([10, 20, 21, 11, 22], nil))
    }

    @Test func everyValueOnceAndInTheOrderOfItsSequence() async throws {
        let numbers = Numbers(0..<200)
        var last: [Int: Int] = [:]
        var count = 0
        for await value in numbers.flatMap(maxConcurrent: 7, { outer in Numbers(outer * 100..<outer * 100 + 50) }) {
            let outer = value / 100
            #expect(value == (last[outer].map { $0 + 1 } ?? outer * 100))
            last[outer] = value
            count += 1
        }
        #expect(count == 200 * 50)
    }

    @Test func workOfOneSecondAtATimeIsDoneInTurn() async throws {
        // Table A's source and sink without the buffer: 1...4 at once, each worked on for a second, one at a time.
        let clock = ManualClock()
        let sink = Mutex<[String]>([])
        let worked = Numbers(1..<5).flatMap(maxConcurrent: 1) { number in
            Single {
                try? await clock.sleep(for: .seconds(1))
                return number
            }
        }
        let reading = Task {
            for await number in worked { sink.withLock { $0.append("\(number) at \(clock.now)") } }
        }
        for _ in 1...4 {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        await reading.value
        let seconds = (1...4).map { "\($0) at \(Duration.seconds($0))" }
        #expect(sink.withLock { $0 } == seconds)
    }
}
