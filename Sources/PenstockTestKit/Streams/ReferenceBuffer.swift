import PenstockStreams

/// The rules of a buffer in front of a flatMap, followed literally and one event at a time: it asks for one value, sees
/// what becomes of it, and asks for the next. Slow and plain on purpose.
package struct ReferenceBuffer {
    private let buffer: Trace.Buffer
    private let work: (Int) -> Int
    private var now = 0
    private var demand = 0
    private var waiting: [Int] = []
    private var isPaused = false
    /// Of a sequence: what is still to be pulled.
    private var pulled: [Int]
    private var working: [(value: Int, until: Int)] = []
    private var out: [Trace.Arrival] = []

    package static func out(of trace: Trace) -> [Trace.Arrival] {
        guard let buffer = trace.buffer else { preconditionFailure("There is no buffer to follow.") }
        var pulled: [Int] = []
        var sends: [(at: Int, values: [Int])] = []
        switch trace.source {
        case .sequence(let values): pulled = values
        case .subject(let batches): sends = batches
        }
        var reference = ReferenceBuffer(buffer: buffer, work: trace.flatMap.work, pulled: pulled)
        // The first demand comes before anything is asked of upstream.
        reference.demand = trace.flatMap.max
        reference.pull()
        for (moment, values) in sends {
            reference.pass(until: moment)
            for value in values where buffer.prefetch == .byRequest || !reference.isPaused { reference.arrive(value) }
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
        while !pulled.isEmpty, buffer.prefetch == .byRequest || !isPaused { arrive(pulled.removeFirst()) }
    }

    private mutating func arrive(_ value: Int) {
        if demand > 0 {
            deliver(value)
        } else if waiting.count < buffer.size {
            waiting.append(value)
        } else {
            isPaused = true
            if case .dropOldest = buffer.whenFull, !waiting.isEmpty {
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
