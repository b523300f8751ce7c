public import PenstockCore
import Synchronization

/// A `RandomSource` that gives the same numbers for the same seed, on every machine.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
/// Threads may share one; the numbers then go round in the order of their calls.
public final class SeededRandom: RandomSource {
    /// What it was made with: print it when a test fails, and the test can be repeated.
    public let seed: UInt64
    private let state: Mutex<UInt64>

    /// Makes the source that `seed` stands for.
    public init(seed: UInt64) {
        self.seed = seed
        state = Mutex(seed)
    }

    /// The next 64 bits.
    public func next() -> UInt64 {
        var bits = state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
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
