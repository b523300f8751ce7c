import Instrumentation
import ServiceContextModule

/// A context on its way between processes: the headers `traceparent`, `tracestate` and `baggage`
/// (https://www.w3.org/TR/trace-context/, https://www.w3.org/TR/baggage/).
enum Traceparent {
    private static let header = "traceparent"
    private static let stateHeader = "tracestate"
    private static let baggageHeader = "baggage"
    /// What a tracestate and a baggage may have in bytes; Trace Context asks that 512 of the one be passed on, Baggage that 8192 of the
    /// other. Longer ones are left out.
    private static let stateBytesMax = 512
    private static let baggageBytesMax = 8192

    static func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        if let span = context.span {
            injector.inject(text(of: span), forKey: header, into: &carrier)
            if let state = span.state { injector.inject(state, forKey: stateHeader, into: &carrier) }
        }
        if let baggage = context.baggage { injector.inject(baggage, forKey: baggageHeader, into: &carrier) }
    }

    static func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        if let baggage = extractor.extract(key: baggageHeader, from: carrier), baggage.utf8.count <= baggageBytesMax {
            context.baggage = baggage
        }
        guard let text = extractor.extract(key: header, from: carrier), var span = span(of: text) else { return }
        // A state is of no use without the span that it belongs to.
        span.state = extractor.extract(key: stateHeader, from: carrier).flatMap {
            $0.isEmpty || $0.utf8.count > stateBytesMax ? nil : $0
        }
        context.span = span
    }

    static func text(of span: SpanIdentity) -> String {
        "00-\(span.traceID.text)-\(span.spanID.text)-\(span.isSampled ? "01" : "00")"
    }

    /// The span that `text` names; `nil` for what Trace Context says is to be taken for nothing.
    static func span(of text: String) -> SpanIdentity? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        // A later version may have more parts.
        guard parts.count >= 4, parts.prefix(4).map(\.utf8.count) == [2, 32, 16, 2],
            let version = Hex.number(of: parts[0]), version != 0xFF, version != 0 || parts.count == 4,
            let high = Hex.number(of: parts[1].prefix(16)), let low = Hex.number(of: parts[1].suffix(16)),
            let number = Hex.number(of: parts[2]), number != 0, let flags = Hex.number(of: parts[3])
        else { return nil }
        let traceID = TraceID(high: high, low: low)
        return traceID.isZero
            ? nil : SpanIdentity(traceID: traceID, spanID: SpanID(number: number), isSampled: flags & 1 == 1)
    }
}
