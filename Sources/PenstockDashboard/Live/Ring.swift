import PenstockCore

/// The last samples, one for each step of time: what is older than the ring is long goes.
///
/// Steps in which nothing has changed are kept as one, as a server may have thousands of queues, most of which have been as they are for
/// hours.
struct Ring: Sendable {
    /// Steps that follow each other and have the same numbers.
    private struct Run {
        let sample: Sample
        /// When its first step was looked at, in seconds; not a number: nobody looked in these steps.
        var begin: Double
        /// How long after that its last step was looked at, in seconds.
        var length: Float = 0
        var count: UInt32 = 1

        var isGap: Bool { begin.isNaN }
        var end: Double { begin + Double(length) }
    }

    let stepSeconds: Int64
    let countMax: Int
    /// The oldest first.
    private var runs: [Run] = []
    private var count = 0
    private var lastStep: Int64 = .min
    /// When the last step was looked at, and the one before it, in seconds: a step that has only begun is shorter than the others. Not a
    /// number: nobody looked.
    private var (last, beforeLast) = (Double.nan, Double.nan)

    init(stepSeconds: Int64, countMax: Int) {
        self.stepSeconds = stepSeconds
        self.countMax = countMax
    }

    /// How many samples are in memory.
    var keptCount: Int { runs.count }

    /// Takes what was seen at that moment. Of several in one step the last one stays.
    mutating func record(_ sample: Sample, at now: Timestamp) {
        let step = now.microseconds / (stepSeconds * 1_000_000)
        let time = Double(now.microseconds) / 1_000_000
        if step == lastStep, count > 0 {
            removeLast()
        } else if step < lastStep || count == 0 || step - lastStep >= Int64(countMax) {
            // After a clock was set back, or so far ahead that nothing of the ring is left, it begins anew.
            (runs, count, beforeLast) = ([], 0, .nan)
        } else {
            let missed = Int(step - lastStep) - 1
            if missed > 0 { runs.append(Run(sample: sample, begin: .nan, count: UInt32(missed))) }
            count += missed
            beforeLast = missed > 0 ? .nan : last
        }
        append(sample, at: time)
        (last, lastStep) = (time, step)
        if count > countMax { removeFirst(count - countMax) }
    }

    private mutating func append(_ sample: Sample, at time: Double) {
        count += 1
        guard let run = runs.last, !run.isGap, run.sample == sample else {
            return runs.append(Run(sample: sample, begin: time))
        }
        runs[runs.count - 1].length = Float(time - run.begin)
        runs[runs.count - 1].count += 1
    }

    private mutating func removeLast() {
        guard let run = runs.popLast() else { return }
        count -= 1
        if run.count == 1 { return }
        runs.append(
            Run(sample: run.sample, begin: run.begin, length: Float(beforeLast - run.begin), count: run.count - 1))
    }

    private mutating func removeFirst(_ excess: Int) {
        var left = excess
        while left > 0, let first = runs.first {
            let taken = min(left, Int(first.count))
            if taken == Int(first.count) {
                runs.removeFirst()
            } else {
                let end = first.end
                runs[0].count -= UInt32(taken)
                runs[0].begin += Double(Int64(taken) * stepSeconds)
                runs[0].length = Float(end - runs[0].begin)
            }
            left -= taken
        }
        count -= excess
    }

    /// How many messages in a second a number has grown by, from step to step.
    func rates(_ number: KeyPath<Sample, UInt32>) -> [Double?] {
        var rates: [Double?] = []
        var before: Run?
        for run in runs {
            rates.append(before.flatMap { Self.rate(number, from: $0, to: run) })
            rates += [Double?](repeating: run.isGap ? nil : 0, count: Int(run.count) - 1)
            before = run
        }
        // A step that has only begun says little.
        if count > 1, last - beforeLast < Double(stepSeconds) / 2 { rates[count - 1] = nil }
        return rates
    }

    private static func rate(_ number: KeyPath<Sample, UInt32>, from before: Run, to now: Run) -> Double? {
        if before.isGap || now.isGap { return nil }
        // A queue that was removed and made again begins at zero, and has not done four thousand million at once.
        let grown = now.sample[keyPath: number] &- before.sample[keyPath: number]
        let seconds = now.begin - before.end
        return grown > UInt32.max / 2 || seconds <= 0 ? nil : Double(grown) / seconds
    }

    /// A number, from step to step.
    func values(_ number: KeyPath<Sample, UInt32>) -> [Double?] {
        steps { Double($0[keyPath: number]) }
    }

    /// A number that is not always there, from step to step.
    func values(_ number: KeyPath<Sample, Float>) -> [Double?] {
        steps { sample in
            let value = sample[keyPath: number]
            return value.isNaN ? nil : Double(value)
        }
    }

    /// How long ago the moment was that a number says, in seconds, from step to step; 0 where it says none.
    func ages(_ moment: KeyPath<Sample, Double>) -> [Double?] {
        runs.flatMap { run -> [Double?] in
            let since = run.sample[keyPath: moment]
            return (0..<Int64(run.count)).map { index -> Double? in
                if run.isGap { return nil }
                return since == 0 ? 0 : max(0, min(run.begin + Double(index * stepSeconds), run.end) - since)
            }
        }
    }

    private func steps(_ value: (Sample) -> Double?) -> [Double?] {
        runs.flatMap { run in
            [Double?](repeating: run.isGap ? nil : value(run.sample), count: Int(run.count))
        }
    }
}
