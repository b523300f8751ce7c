import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct TraceTests {
    @Test(arguments: Trace.agreed, [true, false])
    func theAgreedTraces(trace: Trace, isSerial: Bool) async {
        for _ in 1...50 {
            #expect(await TraceRun(isSerial: isSerial)(trace) == trace.out)
        }
    }

    /// The rules, not the tables: pipelines made up at random give what the rules, followed one by one, say.
    @Test(arguments: 0..<60)
    func tracesMadeUpAtRandom(seed: UInt64) async {
        for round in 0..<5 {
            var trace = madeUp(SeededRandom(seed: seed * 5 + UInt64(round)))
            trace.out = ReferenceBuffer.out(of: trace)
            let out = await TraceRun(isSerial: round % 2 == 0)(trace)
            #expect(out == trace.out, "\(trace)")
        }
    }

    private func madeUp(_ random: SeededRandom) -> Trace {
        let count = random.next(in: 0...30)
        // No two things happen at one moment, where the rules leave open which is first.
        let work = (0...count).map { _ in random.next(in: 1...50) * 100_003 + random.next(in: 1...50_000) }
        let values = Array(1..<count + 1)
        var source = Trace.Source.sequence(values)
        if random.chance(0.5) {
            var sends: [(at: Int, values: [Int])] = []
            var left = values[...]
            while !left.isEmpty {
                let batch = left.prefix(random.next(in: 1...6))
                left = left.dropFirst(batch.count)
                sends.append(((sends.last?.at ?? 0) + random.next(in: 1...3_000_000), Array(batch)))
            }
            source = .subject(sends)
        }
        let buffer = Trace.Buffer(
            size: random.next(in: 0...6), prefetch: random.chance(0.5) ? .byRequest : .keepFull,
            whenFull: random.chance(0.5) ? .dropNewest : .dropOldest)
        let max = random.next(in: 1...4)
        return Trace(
            name: "seed \(random.seed): \(source), \(buffer), max \(max)", source: source, buffer: buffer,
            flatMap: .init(max: max) { work[$0] }, out: [])
    }
}
