/// A number that stands for bytes, where nobody means harm.
package enum Checksum {
    /// FNV-1a with 64 bits, http://www.isthe.com/chongo/tech/comp/fnv/.
    ///
    /// - Parameter seed: goes in before the bytes.
    package static func fnv1a(of bytes: some Sequence<UInt8>, seed: UInt64 = 0) -> UInt64 {
        bytes.reduce((0xcbf2_9ce4_8422_2325 ^ seed) &* 0x100_0000_01b3) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
