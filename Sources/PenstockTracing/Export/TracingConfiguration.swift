public import Foundation
public import Logging
public import PenstockCore

/// Where spans go, and which there are.
public struct TracingConfiguration: Sendable {
    /// What the program is called (`service.name`).
    public var serviceName: String
    /// What else is said of the program, by OpenTelemetry's names, such as `service.version`.
    public var attributes: [String: String] = [:]
    /// How long handing over a batch may take, connecting and the rest each.
    public var timeout = Duration.seconds(10)
    /// Where to say that spans were lost.
    public var logger: Logger?
    var collector: Collector
    var sampler = Sampler.all

    /// Records every trace that begins here, and of those that began elsewhere what is recorded there.
    ///
    /// - Parameters:
    ///   - collector: where spans go, whole: such as `http://localhost:4318/v1/traces`.
    ///   - serviceName: what the program is called.
    ///   - headers: further headers of each request, such as a key.
    /// - Throws: `PenstockError` with code `invalidInput` for what is no such address, or cannot be a header.
    public init(
        collector: String, serviceName: String, headers: [String: String] = [:]
    ) throws(PenstockError) {
        self.collector = try Collector(collector)
        self.serviceName = serviceName
        for (name, value) in headers {
            try require(
                !name.isEmpty && name.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
                    && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "A header of the collector's requests has a name of letters, digits and dashes, and a value on one line."
            )
        }
        self.collector.headers = headers
    }

    /// What the environment asks for, by OpenTelemetry's names
    /// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/); `nil` when it asks for nothing.
    ///
    /// Spans are wanted when `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is there, or
    /// `OTEL_TRACES_EXPORTER` is `otlp`, unless that is `none` or `OTEL_SDK_DISABLED` is `true`. Read are also
    /// `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT` (milliseconds),
    /// `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`, and those of them that have `_TRACES` in their name.
    ///
    /// - Parameters:
    ///   - environment: the variables.
    ///   - serviceName: what the program is called when the environment does not say.
    /// - Throws: `PenstockError` with code `invalidInput` that names the variable.
    public init?(
        environment: [String: String] = ProcessInfo.processInfo.environment, serviceName: String
    ) throws(PenstockError) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        /// Of traces alone, or of all signals.
        func exporter(_ name: String) -> String? {
            value("OTEL_EXPORTER_OTLP_TRACES_\(name)") ?? value("OTEL_EXPORTER_OTLP_\(name)")
        }
        guard value("OTEL_SDK_DISABLED")?.lowercased() != "true", let url = try Self.url(value) else { return nil }
        try require(
            exporter("PROTOCOL") != "grpc",
            "Spans are handed over by OTLP over HTTP, and OTEL_EXPORTER_OTLP_PROTOCOL asks for gRPC; set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to the collector's address for HTTP."
        )
        var attributes = try Self.pairs(value("OTEL_RESOURCE_ATTRIBUTES") ?? "", "OTEL_RESOURCE_ATTRIBUTES")
        let named = attributes.removeValue(forKey: "service.name")
        try self.init(
            collector: url, serviceName: value("OTEL_SERVICE_NAME") ?? named ?? serviceName,
            headers: try Self.pairs(exporter("HEADERS") ?? "", "OTEL_EXPORTER_OTLP_HEADERS"))
        self.attributes = attributes
        if let text = exporter("TIMEOUT") {
            guard let number = Int(text), (1...600_000).contains(number) else {
                throw PenstockError(
                    .invalidInput, "OTEL_EXPORTER_OTLP_TIMEOUT is a number of milliseconds, from 1 to 600000.")
            }
            timeout = .milliseconds(number)
        }
        if let name = value("OTEL_TRACES_SAMPLER") {
            sampler = try Sampler(named: name, argument: value("OTEL_TRACES_SAMPLER_ARG"))
        }
    }

    /// What is said of the program.
    var resource: [(name: String, value: String)] {
        let own = [
            "service.name": serviceName, "process.pid": String(ProcessInfo.processInfo.processIdentifier),
            "telemetry.sdk.name": "penstock", "telemetry.sdk.language": "swift",
        ]
        return own.merging(attributes) { _, given in given }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Where the environment has spans go; `nil`: nowhere.
    private static func url(_ value: (String) -> String?) throws(PenstockError) -> String? {
        let exporter = value("OTEL_TRACES_EXPORTER")
        guard exporter == nil || exporter == "otlp" else { return nil }
        if let url = value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") { return url }
        guard let base = value("OTEL_EXPORTER_OTLP_ENDPOINT") ?? (exporter == nil ? nil : "http://localhost:4318")
        else {
            return nil
        }
        _ = try Collector(base)
        return base + (base.hasSuffix("/") ? "v1/traces" : "/v1/traces")
    }

    /// `name=value,name=value`, values escaped as in addresses.
    private static func pairs(_ text: String, _ variable: String) throws(PenstockError) -> [String: String] {
        var pairs: [String: String] = [:]
        for part in text.split(separator: ",") {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard words.count == 2, let value = String(words[1]).removingPercentEncoding else {
                throw PenstockError(.invalidInput, "\(variable) is a list of NAME=VALUE with commas between them.")
            }
            pairs[words[0].trimmingCharacters(in: .whitespaces)] = value.trimmingCharacters(in: .whitespaces)
        }
        return pairs
    }
}
