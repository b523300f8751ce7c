import Foundation
import Logging
import PenstockCore
package import PenstockTracing
import Tracing

/// The spans of a command, when the environment asks for them by OpenTelemetry's variables.
package struct CommandTracing: Sendable {
    package let tracer: OTLPTracer

    /// The variables that ask.
    private static let asking = [
        "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER",
    ]

    /// `nil` when nobody asks. What cannot be done is said, and the command does its work without.
    ///
    /// - Parameter serviceName: what the program is called when the environment does not say.
    @MainActor
    package init?(serviceName: String = "penstock") {
        // Most commands end here, and nothing else is to be read for them.
        guard Self.asking.contains(where: { getenv($0) != nil }) else { return nil }
        do throws(PenstockError) {
            guard var configuration = try TracingConfiguration(serviceName: serviceName) else { return nil }
            configuration.attributes["service.version"] = configuration.attributes["service.version"] ?? Version.text
            configuration.logger = ErrorLog.logger(.warning)
            tracer = OTLPTracer(configuration)
        } catch {
            ErrorOutput.say("There are no traces: \(error.message)", .warning)
            return nil
        }
    }

    /// Calls `body` as a part of the span that whoever started the program names in TRACEPARENT, and hands over what has ended.
    @MainActor
    package func use<Result>(_ body: @MainActor () async throws -> Result) async throws -> Result {
        var context = ServiceContext.topLevel
        tracer.extract(ProcessInfo.processInfo.environment, into: &context, using: VariableCarrier())
        let result = await Swift.Result.of { try await ServiceContext.withValue(context) { try await body() } }
        await tracer.shutdown()
        return try result.get()
    }

    /// The span that is under way, as a process that is started for it is told; empty when there is none.
    var variables: [String: String] {
        var variables: [String: String] = [:]
        if let context = ServiceContext.current { tracer.inject(context, into: &variables, using: VariableCarrier()) }
        return variables
    }
}

/// A context in the variables by which OpenTelemetry hands it to a process: `TRACEPARENT`, `TRACESTATE` and `BAGGAGE`.
struct VariableCarrier: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into variables: inout [String: String]) {
        variables[key.uppercased()] = value
    }

    func extract(key: String, from variables: [String: String]) -> String? {
        variables[key.uppercased()].flatMap { $0.isEmpty ? nil : $0 }
    }
}
