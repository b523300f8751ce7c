package import PenstockStreams

/// A source, what keeps its values, what works on them, and what comes out of that when.
package struct Trace: Sendable, CustomStringConvertible {
    /// Where the values come from.
    package enum Source: Sendable {
        /// All at once, and pulled.
        case sequence([Int])
        /// Sent at these milliseconds, whether anybody wants them or not.
        case subject([(at: Int, values: [Int])])
    }

    /// What a full buffer does with a value.
    package enum Overflow: Sendable {
        case dropNewest, dropOldest
        /// Asks for no more: of a source that can wait.
        case wait
    }

    /// What keeps the values that wait.
    package struct Buffer: Sendable {
        package var size: Int
        package var prefetch: BufferPrefetch
        package var whenFull: Overflow
    }

    /// What works on values, and on how many of them at once.
    package struct FlatMap: Sendable {
        package var max: Int
        /// How many milliseconds a value is worked on.
        package var work: @Sendable (Int) -> Int
    }

    /// A value that comes out.
    package struct Arrival: Sendable, Hashable, CustomStringConvertible {
        package var value: Int
        package var milliseconds: Int

        package init(value: Int, milliseconds: Int) {
            self.value = value
            self.milliseconds = milliseconds
        }

        package var description: String { "\(value) at \(milliseconds)" }
    }

    package var name: String
    package var source: Source
    /// `nil`: the flatMap is directly behind the source.
    package var buffer: Buffer?
    package var flatMap: FlatMap
    /// What comes out, and at how many milliseconds.
    package var out: [Arrival]

    package var description: String { name }

    /// The values that come out.
    package var values: [Int] { out.map(\.value) }
}

extension Duration {
    /// Whole milliseconds, as traces count them.
    package var wholeMilliseconds: Int {
        Int(components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
