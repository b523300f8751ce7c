/// A generator whose numbers a test can repeat: SplitMix64 (Steele, Lea and Flood, 2014).
package struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    package init(_ seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `count` bytes, of which many are special in text.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in
            switch next() % 4 {
            case 0: UInt8.random(in: 0..<0x20, using: &self)
            case 1: UInt8.random(in: 0x20..<0x80, using: &self)
            default: UInt8.random(in: 0...255, using: &self)
            }
        }
    }
}
