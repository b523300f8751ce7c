import PenstockStreams

extension Trace {
    private static let tenAtOnce = Source.sequence(Array(1...10))
    private static let tenAndOne = Source.subject([(0, Array(1...10)), (3_000, [11])])
    private static let oneEverySecond = Source.subject((1...11).map { ($0 * 1_000, [$0]) })

    private static func arrivals(_ values: [Int], at milliseconds: (_ index: Int, _ value: Int) -> Int) -> [Arrival] {
        values.enumerated().map { Arrival(value: $1, milliseconds: milliseconds($0, $1)) }
    }

    private static func a(_ name: String, _ prefetch: BufferPrefetch, _ whenFull: Overflow, out: [Int]) -> Trace {
        Trace(
            name: name, source: tenAtOnce, buffer: Buffer(size: 4, prefetch: prefetch, whenFull: whenFull),
            flatMap: FlatMap(max: 1) { _ in 1_000 }, out: arrivals(out) { index, _ in (index + 1) * 1_000 })
    }

    /// The agreed traces. Times that the tables leave out follow from them: A gives one value a second, C works on each
    /// for a hair more than three seconds.
    package static let agreed: [Trace] = [
        a("A1", .byRequest, .dropNewest, out: [1, 2, 3, 4, 5]),
        a("A2", .byRequest, .dropOldest, out: [1, 7, 8, 9, 10]),
        a("A3", .keepFull, .dropNewest, out: [1, 2, 3, 4, 5, 7, 9]),
        a("A4", .keepFull, .dropOldest, out: [1, 3, 5, 7, 8, 9, 10]),
        Trace(
            name: "B1", source: tenAndOne, buffer: nil, flatMap: FlatMap(max: 1) { _ in 2_000 },
            out: arrivals([1, 11]) { index, _ in [2_000, 5_000][index] }),
        Trace(
            name: "B2", source: tenAndOne, buffer: Buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest),
            flatMap: FlatMap(max: 1) { _ in 2_000 },
            out: arrivals([1, 2, 3, 4, 5, 11]) { index, _ in (index + 1) * 2_000 }),
        Trace(
            name: "C1", source: oneEverySecond, buffer: nil, flatMap: FlatMap(max: 3) { _ in 3_050 },
            out: arrivals([1, 2, 3, 5, 6, 7, 9, 10, 11]) { _, value in value * 1_000 + 3_050 }),
        Trace(
            name: "C2", source: oneEverySecond, buffer: Buffer(size: 20, prefetch: .keepFull, whenFull: .dropOldest),
            flatMap: FlatMap(max: 3) { _ in 3_050 },
            out: arrivals(Array(1...11)) { index, value in value * 1_000 + (index / 3) * 50 + 3_050 }),
    ]

    /// Those of the agreed traces in which something waits.
    package static let buffered = agreed.filter { $0.buffer != nil }

    /// Not in the tables: nothing is lost of a source that can wait.
    package static let lossless = a("A5", .keepFull, .wait, out: Array(1...10))
}
