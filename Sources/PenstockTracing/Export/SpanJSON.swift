import PenstockFormats
import Tracing

/// Spans as OTLP has them in JSON: numbers of 64 bits are texts, and ids are hexadecimal digits
/// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
struct SpanJSON: Sendable {
    /// What is said of the program.
    let resource: [(name: String, value: String)]

    func body(of spans: [SpanRecord]) -> [UInt8] {
        let scope: JSONValue = .object([
            "scope": .object(["name": .string("penstock")]), "spans": .array(spans.map(Self.span)),
        ])
        let program: JSONValue = .object([
            "attributes": .array(
                resource.map { Self.attribute($0.name, .object(["stringValue": Self.text($0.value)])) })
        ])
        let all: JSONValue = .object([
            "resourceSpans": .array([.object(["resource": program, "scopeSpans": .array([scope])])])
        ])
        return all.bytes
    }

    private static func span(_ record: SpanRecord) -> JSONValue {
        var json = identity(record.identity)
        if let parent = record.parentID { json = json.adding(["parentSpanId": .string(parent.text)]) }
        json = json.adding([
            "name": text(record.name), "kind": .integer(number(of: record.kind)),
            "startTimeUnixNano": .string(String(record.start)), "endTimeUnixNano": .string(String(record.end)),
        ])
        let attributes = attributes(record.attributes)
        if !attributes.isEmpty { json = json.adding(["attributes": .array(attributes)]) }
        if !record.events.isEmpty { json = json.adding(["events": .array(record.events.map(event))]) }
        let links = record.links.compactMap(link)
        if !links.isEmpty { json = json.adding(["links": .array(links)]) }
        return record.status.map { json.adding(["status": status($0)]) } ?? json
    }

    private static func identity(_ span: SpanIdentity) -> JSONValue {
        let json = JSONValue.object([
            "traceId": .string(span.traceID.text), "spanId": .string(span.spanID.text),
            "flags": .integer(span.isSampled ? 1 : 0),
        ])
        return span.state.map { json.adding(["traceState": .string($0)]) } ?? json
    }

    private static func number(of kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func event(_ event: SpanEvent) -> JSONValue {
        .object([
            "timeUnixNano": .string(String(event.nanosecondsSinceEpoch)), "name": text(event.name),
            "attributes": .array(attributes(event.attributes)),
        ])
    }

    /// `nil` for a link to what is no span of this tracer's kind.
    private static func link(_ link: SpanLink) -> JSONValue? {
        guard let span = link.context.span else { return nil }
        let attributes = attributes(link.attributes)
        return attributes.isEmpty ? identity(span) : identity(span).adding(["attributes": .array(attributes)])
    }

    private static func status(_ status: SpanStatus) -> JSONValue {
        let code: JSONValue = .integer(status.code == .ok ? 1 : 2)
        return status.message.map { .object(["code": code, "message": text($0)]) } ?? .object(["code": code])
    }

    private static func attributes(_ attributes: SpanAttributes) -> [JSONValue] {
        var found: [JSONValue] = []
        attributes.forEach { name, attribute in
            guard found.count < SpanRecord.partsMax, let value = value(attribute) else { return }
            found.append(Self.attribute(name, value))
        }
        return found
    }

    private static func attribute(_ name: String, _ value: JSONValue) -> JSONValue {
        .object(["key": .string(name), "value": value])
    }

    private static func value(_ attribute: SpanAttribute) -> JSONValue? {
        switch attribute {
        case .int32(let number): integer(Int64(number))
        case .int64(let number): integer(number)
        case .double(let number): .object(["doubleValue": .decimal(number)])
        case .bool(let flag): .object(["boolValue": .bool(flag)])
        case .string(let string): .object(["stringValue": text(string)])
        case .stringConvertible(let value): .object(["stringValue": text("\(value)")])
        case .int32Array(let numbers): array(numbers.map { integer(Int64($0)) })
        case .int64Array(let numbers): array(numbers.map(integer))
        case .doubleArray(let numbers): array(numbers.map { .object(["doubleValue": .decimal($0)]) })
        case .boolArray(let flags): array(flags.map { .object(["boolValue": .bool($0)]) })
        case .stringArray(let strings): array(strings.map { .object(["stringValue": text($0)]) })
        case .stringConvertibleArray(let values): array(values.map { .object(["stringValue": text("\($0)")]) })
        default: nil
        }
    }

    private static func integer(_ number: Int64) -> JSONValue { .object(["intValue": .string(String(number))]) }

    private static func array(_ values: [JSONValue]) -> JSONValue {
        .object(["arrayValue": .object(["values": .array(values)])])
    }

    /// A text, cut where it is long.
    private static func text(_ text: String) -> JSONValue {
        .string(text.utf8.count > SpanRecord.textBytesMax ? text.cut(to: SpanRecord.textBytesMax - 4) : text)
    }
}
