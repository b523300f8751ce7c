public import PenstockCore
import Synchronization

/// A `RandomSource` that gives the same numbers for the same seed, on every machine.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
/// Threads may share one; the numbers then go round in the order of their calls.
public final class SeededRandom: RandomSource {
    /// What it was made with: print it when a test fails, and the test can be repeated.
    public let seed: UInt64
    private let numbers: Mutex<Seeded>

    /// Makes the source that `seed` stands for.
    public init(seed: UInt64) {
        self.seed = seed
        numbers = Mutex(Seeded(seed))
    }

    /// The next 64 bits.
    public func next() -> UInt64 {
        numbers.withLock { $0.next() }
    }

    /// A number out of `range`.
    public func next(in range: ClosedRange<Int>) -> Int {
        // The slight preference of a remainder for small numbers does not matter to a test.
        let largest = UInt64(bitPattern: Int64(range.upperBound &- range.lowerBound))
        let offset = largest == .max ? next() : next() % (largest + 1)
        return range.lowerBound &+ Int(truncatingIfNeeded: offset)
    }

    /// One of `elements`, or `nil` when there is none.
    public func pick<Element>(_ elements: some Collection<Element>) -> Element? {
        guard !elements.isEmpty else { return nil }
        return elements[elements.index(elements.startIndex, offsetBy: next(in: 0...(elements.count - 1)))]
    }

    /// `true` as often as `chance` of 1 says.
    public func chance(_ chance: Double) -> Bool {
        nextUnit() < chance
    }
}
