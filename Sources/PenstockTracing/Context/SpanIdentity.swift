import ServiceContextModule

/// Which span something belongs to, as W3C Trace Context has it (https://www.w3.org/TR/trace-context/).
struct SpanIdentity: Hashable, Sendable {
    /// 16 bytes, not all zero: the same for all spans of a trace.
    var traceID: TraceID
    /// 8 bytes, not all zero.
    var spanID: SpanID
    /// Whether the trace is recorded.
    var isSampled: Bool
    /// What other tracers carry beside, as it came.
    var state: String?
}

/// The number of a trace.
struct TraceID: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    var isZero: Bool { high == 0 && low == 0 }
    /// 32 hexadecimal digits.
    var text: String { Hex.digits(of: high) + Hex.digits(of: low) }
}

/// The number of a span within its trace.
struct SpanID: Hashable, Sendable {
    var number: UInt64

    /// 16 hexadecimal digits.
    var text: String { Hex.digits(of: number) }
}

/// Numbers as Trace Context writes them.
enum Hex {
    /// 16 digits in small letters.
    static func digits(of number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The number that 1 to 16 digits in small letters are.
    static func number(of text: Substring) -> UInt64? {
        let isHex = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isHex ? UInt64(text, radix: 16) : nil
    }
}

extension ServiceContext {
    private enum SpanIdentityKey: ServiceContextKey {
        typealias Value = SpanIdentity
        static var nameOverride: String? { "traceparent" }
    }

    private enum BaggageKey: ServiceContextKey {
        typealias Value = String
        static var nameOverride: String? { "baggage" }
    }

    /// The span that is under way.
    var span: SpanIdentity? {
        get { self[SpanIdentityKey.self] }
        set { self[SpanIdentityKey.self] = newValue }
    }

    /// W3C Baggage, as it came: nothing here reads it.
    var baggage: String? {
        get { self[BaggageKey.self] }
        set { self[BaggageKey.self] = newValue }
    }
}
