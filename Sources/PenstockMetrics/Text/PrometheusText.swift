import PenstockCore

/// Numbers as Prometheus reads them: its text exposition format, version 0.0.4.
///
/// A family is begun once, and all its samples follow it. One that has a name for its samples which another one has had is left out: the
/// format knows no name twice, and strict readers refuse all of such a text.
package struct PrometheusText: Sendable {
    /// What a response with such text says it is. Without the version Prometheus 3 refuses it.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// What the numbers of a family are.
    package enum Kind: String, Sendable {
        /// Only grows, but for a new start.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts by size.
        case histogram
    }

    package private(set) var bytes: [UInt8] = []
    /// The family that samples belong to.
    private var name: [UInt8] = []
    /// What the samples of all families are called.
    private var taken: Set<String> = []
    /// Whether the family that samples belong to is left out.
    private var isLeftOut = false

    package init() {}

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Begins a family.
    ///
    /// - Parameters:
    ///   - name: what its samples are called, with the unit and, for a counter, `_total` at its end.
    ///   - help: what is counted or measured, in a sentence.
    package mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        self.name = Array(name.utf8)
        var own: Set<String> = [name]
        if kind == .histogram { own.formUnion(["_bucket", "_sum", "_count"].map { name + $0 }) }
        isLeftOut = !taken.isDisjoint(with: own)
        if isLeftOut { return }
        taken.formUnion(own)
        let help = help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        bytes += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n".utf8
    }

    /// Adds the only sample of the family that was begun last.
    package mutating func sample(_ value: Int) { sample(Labels(), value) }

    /// Adds a sample of the family that was begun last.
    package mutating func sample(_ labels: Labels, _ value: Int) {
        if !isLeftOut { append(labels, value: String(value)) }
    }

    /// Adds a sample of the family that was begun last.
    package mutating func sample(_ labels: Labels, _ value: Double) {
        if !isLeftOut { append(labels, value: Self.text(value)) }
    }

    /// Adds a histogram of the family that was begun last.
    ///
    /// - Parameters:
    ///   - counts: how many values each bucket of `buckets` has, and as the last one how many are beyond them.
    ///   - sum: the sum of all values, in the unit of the buckets.
    package mutating func histogram(
        _ labels: Labels, _ buckets: Buckets, _ counts: some Sequence<Int>, sum: Double
    ) {
        if isLeftOut { return }
        // Most of what a server says are buckets: what they have in common is made once.
        let start =
            Array(name) + Array("_bucket{".utf8) + labels.bytes + (labels.bytes.isEmpty ? [] : [UInt8(ascii: ",")])
        var count = 0
        for (bound, more) in zip(buckets.labels, counts) {
            count = count.addingClamped(more)
            bytes += start
            bytes += bound
            bytes.append(UInt8(ascii: "}"))
            append(String(count))
        }
        append(labels, "_sum", value: Self.text(sum))
        append(labels, "_count", value: String(count))
    }

    private mutating func append(_ labels: Labels, _ suffix: String = "", value: String) {
        bytes += name
        bytes += suffix.utf8
        if !labels.bytes.isEmpty {
            bytes.append(UInt8(ascii: "{"))
            bytes += labels.bytes
            bytes.append(UInt8(ascii: "}"))
        }
        append(value)
    }

    private mutating func append(_ value: String) {
        bytes.append(UInt8(ascii: " "))
        bytes += value.utf8
        bytes.append(UInt8(ascii: "\n"))
    }

    /// `value` as the format has it.
    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // A whole number needs no point.
        return Int(exactly: value).map(String.init) ?? String(value)
    }
}
