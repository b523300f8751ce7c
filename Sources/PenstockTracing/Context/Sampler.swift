import PenstockCore

/// Which traces are recorded, by the names that OpenTelemetry has for it (`OTEL_TRACES_SAMPLER`).
struct Sampler: Equatable, Sendable {
    /// The part of the traces that begin here which are recorded, from 0 to 1.
    var ratio: Double
    /// Whether a span that has a parent elsewhere is recorded just when that is.
    var followsParent: Bool

    static let all = Sampler(ratio: 1, followsParent: true)

    /// Whether a span is recorded. All processes that have the same ratio say the same of a trace, as they go by its number.
    func samples(_ traceID: TraceID, parent: SpanIdentity?) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        // The lowest 56 bits are random in every trace (Trace Context, level 2).
        return Double(traceID.low & 0xFF_FFFF_FFFF_FFFF) < ratio * 0x1p56
    }
}

extension Sampler {
    /// - Parameters:
    ///   - name: such as `parentbased_traceidratio`.
    ///   - argument: the ratio, for the samplers that have one.
    /// - Throws: `PenstockError` with code `invalidInput` for a name or a ratio that is none.
    init(named name: String, argument: String?) throws(PenstockError) {
        let prefix = "parentbased_"
        followsParent = name.hasPrefix(prefix)
        switch followsParent ? String(name.dropFirst(prefix.count)) : name {
        case "always_on": ratio = 1
        case "always_off": ratio = 0
        case "traceidratio":
            guard let number = Double(argument ?? "1"), (0...1).contains(number) else {
                throw PenstockError(.invalidInput, "OTEL_TRACES_SAMPLER_ARG is a number from 0 to 1.")
            }
            ratio = number
        default:
            throw PenstockError(
                .invalidInput,
                "OTEL_TRACES_SAMPLER is always_on, always_off or traceidratio, or one of these behind 'parentbased_'.")
        }
    }
}
