import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The operating system's generator of random numbers.
///
/// A question to the system costs about as much as writing a row, so the numbers of one answer serve many calls.
public struct SystemRandom: RandomSource {
    /// Numbers that were asked for and not given out yet. Each is given once.
    private final class Supply: Sendable {
        /// As many as the system gives at once: 256 bytes.
        private static let count = 32
        private let numbers = Mutex<[UInt64]>([])

        func next() -> UInt64 {
            numbers.withLock { numbers in
                if numbers.isEmpty { numbers = Self.ask() }
                return numbers.removeLast()
            }
        }

        private static func ask() -> [UInt64] {
            // Apple's systems have no `getentropy` for Swift. The generator below asks their library there, which costs little.
            #if canImport(Glibc) || canImport(Musl)
                var numbers = [UInt64](repeating: 0, count: count)
                let isFilled = numbers.withUnsafeMutableBytes { bytes in
                    bytes.baseAddress.map { getentropy($0, bytes.count) == 0 } ?? false
                }
                if isFilled { return numbers }
            #endif
            var generator = SystemRandomNumberGenerator()
            return (0..<count).map { _ in generator.next() }
        }
    }

    private let supply = Supply()

    /// Makes the operating system's generator.
    public init() {}

    /// The next 64 random bits from the operating system.
    public func next() -> UInt64 {
        supply.next()
    }
}
