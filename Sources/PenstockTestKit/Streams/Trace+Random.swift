import PenstockStreams

extension Trace {
    /// A pipeline made up at random. What comes out of it is what ``ReferenceBuffer`` says.
    package static func madeUp(_ random: SeededRandom) -> Trace {
        let count = random.next(in: 0...30)
        // No two things happen at one moment, where the rules leave open which is first.
        let work = (0...count).map { _ in random.next(in: 1...50) * 100_003 + random.next(in: 1...50_000) }
        let values = Array(1..<count + 1)
        var source = Source.sequence(values)
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
        let buffer = Buffer(
            size: random.next(in: 0...6), prefetch: random.chance(0.5) ? .byRequest : .keepFull,
            whenFull: random.chance(0.5) ? .dropNewest : .dropOldest)
        let max = random.next(in: 1...4)
        var trace = Trace(
            name: "seed \(random.seed): \(source), \(buffer), max \(max)", source: source, buffer: buffer,
            flatMap: FlatMap(max: max) { work[$0] }, out: [])
        trace.out = ReferenceBuffer.out(of: trace)
        return trace
    }
}
