import Synchronization
public import Tracing

/// A span that is under way.
public final class OTLPSpan: Span {
    private struct State {
        var record: SpanRecord
        var hasEnded = false
    }

    /// The context for what is a part of it.
    public let context: ServiceContext
    /// Whether anybody will see it. What is said of a span that is not recorded is forgotten at once.
    public let isRecording: Bool
    private let state: Mutex<State>
    private let whenEnded: @Sendable (SpanRecord) -> Void

    init(
        _ record: SpanRecord, context: ServiceContext, whenEnded: @escaping @Sendable (SpanRecord) -> Void
    ) {
        self.context = context
        isRecording = record.identity.isSampled
        state = Mutex(State(record: record))
        self.whenEnded = whenEnded
    }

    /// What it is called.
    public var operationName: String {
        get { state.withLock { $0.record.name } }
        set { change { $0.name = newValue } }
    }

    /// What is known of it, 128 at most.
    public var attributes: SpanAttributes {
        get { state.withLock { $0.record.attributes } }
        set { change { $0.attributes = newValue } }
    }

    /// Says how it went.
    public func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    /// Notes what happened in it. Of more than 128 events the first are kept.
    public func addEvent(_ event: SpanEvent) {
        change { if $0.events.count < SpanRecord.partsMax { $0.events.append(event) } }
    }

    /// Notes a span elsewhere that it has to do with. Of more than 128 the first are kept.
    public func addLink(_ link: SpanLink) {
        change { if $0.links.count < SpanRecord.partsMax { $0.links.append(link) } }
    }

    /// Notes an error as an event, by OpenTelemetry's names.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        guard isRecording else { return }
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        attributes["exception.message"] = "\(error)"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Ends it. What is said of it later, a second end among it, changes nothing.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard isRecording else { return }
        let now = instant().nanosecondsSinceEpoch
        let ended = state.withLock { state -> SpanRecord? in
            if state.hasEnded { return nil }
            state.hasEnded = true
            // The machine's clock may have been set back meanwhile.
            state.record.end = max(now, state.record.start)
            return state.record
        }
        if let ended { whenEnded(ended) }
    }

    private func change(_ body: (inout SpanRecord) -> Void) {
        guard isRecording else { return }
        state.withLock { state in
            if !state.hasEnded { body(&state.record) }
        }
    }
}
