/// How far the work on a message has come, as its worker said last.
public struct MessageProgress: Hashable, Sendable {
    /// From 0 to 1, kept to a millionth; `nil` when the worker does not know.
    public var fraction: Double?
    /// A few words for people, up to ``Limits/progressBytesMax`` bytes.
    public var text: String

    /// Makes a progress.
    public init(_ fraction: Double? = nil, _ text: String = "") {
        self.fraction = fraction
        self.text = text
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the fraction or the text cannot be.
    package func validate() throws(PenstockError) {
        if let fraction {
            try require((0...1).contains(fraction), "A progress is a fraction from 0 to 1; this one is \(fraction).")
        }
        try require(
            text.utf8.count <= Limits.progressBytesMax,
            "The text of a progress has at most \(Limits.progressBytesMax) bytes (progressBytesMax); this one has "
                + "\(text.utf8.count).")
    }

    /// The nearest one that a store takes.
    package var fitting: MessageProgress {
        var text = Substring(text)
        while text.utf8.count > Limits.progressBytesMax { text.removeLast() }
        let fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
        return MessageProgress(fraction, String(text))
    }
}

/// A ``MessageProgress``, and when the store was told of it.
public struct ProgressRecord: Hashable, Sendable {
    /// How far the work has come.
    public var progress: MessageProgress
    /// When the store was told.
    public var reportedAt: Timestamp

    /// Makes a record.
    public init(_ progress: MessageProgress, reportedAt: Timestamp) {
        self.progress = progress
        self.progress.fraction = progress.fraction.map { ($0 * 1_000_000).rounded() / 1_000_000 }
        self.reportedAt = reportedAt
    }
}
