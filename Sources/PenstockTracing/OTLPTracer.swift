package import PenstockCore
public import ServiceLifecycle
public import Tracing

/// A tracer that hands spans to a collector, by OpenTelemetry's protocol over HTTP (OTLP/HTTP, JSON).
///
/// A context goes from process to process as W3C Trace Context has it, in `traceparent` and `tracestate`. Spans that have ended wait in
/// memory, 2,048 at most, and are handed over each second, on a thread that is there for just that: a collector that is slow or away costs spans, which are
/// counted in the log, and never holds up the program. Give it to `PenstockStore.Options(tracer:)`, or bootstrap it for the whole program
/// (`InstrumentationSystem.bootstrap`), and call ``shutdown()`` at the end.
public final class OTLPTracer: Tracer {
    /// What its spans are.
    public typealias Span = OTLPSpan

    private let sampler: Sampler
    private let random: any RandomSource
    private let exporter: SpanExporter

    /// - Parameter configuration: where the collector is, and what is recorded.
    public convenience init(_ configuration: TracingConfiguration) {
        self.init(configuration, time: SystemTime(), random: SystemRandom())
    }

    package init(_ configuration: TracingConfiguration, time: any TimeSource, random: any RandomSource) {
        sampler = configuration.sampler
        self.random = random
        exporter = SpanExporter(configuration, time: time)
    }

    /// Begins a span: as a part of the one in `context`, or of a new trace.
    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.span
        let traceID = parent?.traceID ?? TraceID(high: number(), low: number())
        let identity = SpanIdentity(
            traceID: traceID, spanID: SpanID(number: number()),
            isSampled: sampler.samples(traceID, parent: parent), state: parent?.state)
        context.span = identity
        let record = SpanRecord(
            identity: identity, parentID: parent?.spanID, name: operationName, kind: kind,
            start: identity.isSampled ? instant().nanosecondsSinceEpoch : 0)
        return OTLPSpan(record, context: context) { [exporter] in exporter.add($0) }
    }

    /// Writes `context` into what goes to another process.
    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        Traceparent.inject(context, into: &carrier, using: injector)
    }

    /// Reads what another process has written. What is no context by Trace Context's rules is taken for none.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        Traceparent.extract(carrier, into: &context, using: extractor)
    }

    /// Has spans that have ended handed over soon, and does not wait for that.
    public func forceFlush() { exporter.flush() }

    /// Hands over what has ended, and takes no further spans. It waits for the collector for two seconds at
    /// most, or for as long as the configuration says if that is less; what is not handed over by then is lost.
    public func shutdown() async { await exporter.stop() }

    /// A number that is not zero.
    private func number() -> UInt64 {
        let number = random.next()
        return number == 0 ? 1 : number
    }
}

extension OTLPTracer: Service {
    /// Waits until the group is told to shut down, and then hands over what has ended.
    public func run() async throws {
        try? await gracefulShutdown()
        await shutdown()
    }
}
