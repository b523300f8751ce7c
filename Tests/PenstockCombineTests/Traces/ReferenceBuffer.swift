import PenstockTestKit

/// The rules of a buffer in front of a flatMap, followed literally and one event at a time: it asks for one value, sees
/// what becomes of it, and asks for the next. Slow and plain on purpose.
struct ReferenceBuffer {
    private let buffer: Trace.Buffer
    private let work: (Int) -> Int
    private var now = 0
    private var demand = 0
    private var waiting: [Int] = []
    private var isPaused = false
    /// Of a sequence: what is still to be asked for.
    private var pulled: [Int]
    private var working: [(value: Int, until: Int)] = []
    private var out: [Trace.Arrival] = []

    static func out(of trace: Trace) -> [Trace.Arrival] {
        guard let buffer = trace.buffer else { preconditionFailure("There is no buffer to follow.") }
        var pulled: [Int] = []
        var sends: [(at: Int, values: [Int])] = []
        switch trace.source {
        case .sequence(let values): pulled = values
        case .subject(let batches): sends = batches
        }
        var reference = ReferenceBuffer(buffer: buffer, work: trace.work, pulled: pulled)
        // The first demand comes before anything is asked of upstream.
        reference.demand = trace.max
        reference.pull()
        for (moment, values) in sends {
            reference.pass(until: moment)
            for value in values where buffer.isByRequest || !reference.isPaused { reference.arrive(value) }
        }
        reference.pass(until: .max)
        return reference.out
    }

    private init(buffer: Trace.Buffer, work: @escaping (Int) -> Int, pulled: [Int]) {
        self.buffer = buffer
        self.work = work
        self.pulled = pulled
    }

    private mutating func pass(until moment: Int) {
        while let next = working.min(by: { $0.until < $1.until }), next.until <= moment {
            now = next.until
            working.removeAll { $0.value == next.value }
            out.append(Trace.Arrival(value: next.value, milliseconds: now))
            ask()
        }
        now = moment
    }

    private mutating func ask() {
        demand += 1
        isPaused = false
        if !waiting.isEmpty { deliver(waiting.removeFirst()) }
        pull()
    }

    private mutating func pull() {
        while !pulled.isEmpty, buffer.isByRequest || !isPaused { arrive(pulled.removeFirst()) }
    }

    private mutating func arrive(_ value: Int) {
        if demand > 0 {
            deliver(value)
        } else if waiting.count < buffer.size {
            waiting.append(value)
        } else {
            isPaused = true
            if buffer.dropsOldest, !waiting.isEmpty {
                waiting.removeFirst()
                waiting.append(value)
            }
        }
    }

    private mutating func deliver(_ value: Int) {
        demand -= 1
        working.append((value, now + work(value)))
    }
}

extension Trace {
    /// A pipeline made up at random, without what comes out.
    static func madeUp(_ random: SeededRandom) -> Trace {
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
            size: random.next(in: 0...6), isByRequest: random.chance(0.5), dropsOldest: random.chance(0.5))
        let max = random.next(in: 1...4)
        return Trace(
            name: "seed \(random.seed): \(source), \(buffer), max \(max)", source: source, buffer: buffer, max: max,
            work: { work[$0] }, out: [])
    }
}
