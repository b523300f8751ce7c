import Tracing

/// What is known of a span.
struct SpanRecord: Sendable {
    /// Attributes, events and links that are kept of a span, as OpenTelemetry bounds them.
    static let partsMax = 128
    /// Bytes that are kept of a text, so that an error that quotes a payload does not fill the memory.
    static let textBytesMax = 4096

    var identity: SpanIdentity
    var parentID: SpanID?
    var name: String
    var kind: SpanKind
    /// Nanoseconds since 1970.
    var start: UInt64
    /// Nanoseconds since 1970, never before `start`.
    var end: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [SpanLink] = []
    var status: SpanStatus?
}
