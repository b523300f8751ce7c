import PenstockCombine

/// A source, what keeps its values, what works on them, and what comes out of that when.
struct Trace: Sendable, CustomStringConvertible {
    enum Source: Sendable {
        /// All at once, and paused by who asks for no more.
        case sequence([Int])
        /// Sent at these milliseconds, whether anybody wants them or not.
        case subject([(at: Int, values: [Int])])
    }

    struct Buffer: Sendable {
        var size: Int
        var isByRequest: Bool
        var dropsOldest: Bool

        var prefetch: Publishers.PrefetchStrategy { isByRequest ? .byRequest : .keepFull }

        func whenFull<Failure: Error>() -> Publishers.BufferingStrategy<Failure> {
            dropsOldest ? .dropOldest : .dropNewest
        }
    }

    struct Arrival: Sendable, Hashable, CustomStringConvertible {
        var value: Int
        var milliseconds: Int
        var description: String { "\(value) at \(milliseconds)" }
    }

    var name: String
    var source: Source
    var buffer: Buffer?
    /// How many values are worked on at once.
    var max: Int
    /// How many milliseconds a value is worked on.
    var work: @Sendable (Int) -> Int
    /// What comes out, and at how many milliseconds.
    var out: [Arrival]

    var description: String { name }
}

extension Trace {
    private static let tenAtOnce = Source.sequence(Array(1...10))
    private static let tenAndOne = Source.subject([(0, Array(1...10)), (3_000, [11])])
    private static let oneEverySecond = Source.subject((1...11).map { ($0 * 1_000, [$0]) })

    private static func arrivals(_ values: [Int], at milliseconds: (_ index: Int, _ value: Int) -> Int) -> [Arrival] {
        values.enumerated().map { Arrival(value: $1, milliseconds: milliseconds($0, $1)) }
    }

    private static func a(_ name: String, byRequest: Bool, dropsOldest: Bool, out: [Int]) -> Trace {
        Trace(
            name: name, source: tenAtOnce,
            buffer: Buffer(size: 4, isByRequest: byRequest, dropsOldest: dropsOldest), max: 1, work: { _ in 1_000 },
            out: arrivals(out) { index, _ in (index + 1) * 1_000 })
    }

    /// The agreed traces. Times that the tables leave out follow from them: A gives one value a second, C works on each
    /// for a hair more than three seconds.
    static let agreed: [Trace] = [
        a("A1", byRequest: true, dropsOldest: false, out: [1, 2, 3, 4, 5]),
        a("A2", byRequest: true, dropsOldest: true, out: [1, 7, 8, 9, 10]),
        a("A3", byRequest: false, dropsOldest: false, out: [1, 2, 3, 4, 5, 7, 9]),
        a("A4", byRequest: false, dropsOldest: true, out: [1, 3, 5, 7, 8, 9, 10]),
        Trace(
            name: "B1", source: tenAndOne, buffer: nil, max: 1, work: { _ in 2_000 },
            out: arrivals([1, 11]) { index, _ in [2_000, 5_000][index] }),
        Trace(
            name: "B2", source: tenAndOne, buffer: Buffer(size: 4, isByRequest: false, dropsOldest: false), max: 1,
            work: { _ in 2_000 }, out: arrivals([1, 2, 3, 4, 5, 11]) { index, _ in (index + 1) * 2_000 }),
        Trace(
            name: "C1", source: oneEverySecond, buffer: nil, max: 3, work: { _ in 3_050 },
            out: arrivals([1, 2, 3, 5, 6, 7, 9, 10, 11]) { _, value in value * 1_000 + 3_050 }),
        Trace(
            name: "C2", source: oneEverySecond, buffer: Buffer(size: 20, isByRequest: false, dropsOldest: true), max: 3,
            work: { _ in 3_050 },
            out: arrivals(Array(1...11)) { index, value in value * 1_000 + (index / 3) * 50 + 3_050 }),
    ]
}
