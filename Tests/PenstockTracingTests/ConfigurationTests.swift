import PenstockCore
import Testing

@testable import PenstockTracing

/// What the environment asks for.
@Suite struct ConfigurationTests {
    private func configuration(_ environment: [String: String]) throws -> TracingConfiguration? {
        try TracingConfiguration(environment: environment, serviceName: "penstock")
    }

    @Test(arguments: [
        [:], ["OTEL_EXPORTER_OTLP_ENDPOINT": ""],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"], ["OTEL_SERVICE_NAME": "a"],
    ])
    func nothingIsDoneThatNobodyAsksFor(_ environment: [String: String]) throws {
        #expect(try configuration(environment) == nil)
    }

    @Test(arguments: [
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1"], "http://c:1/v1/traces"),
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c/"], "http://c:4318/v1/traces"),
        (["OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1]:9/x"], "http://[::1]:9/x/v1/traces"),
        (
            ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d:2/here"],
            "http://d:2/here"
        ),
        (["OTEL_TRACES_EXPORTER": "otlp"], "http://localhost:4318/v1/traces"),
    ])
    func spansGoWhereItSays(_ environment: [String: String], _ url: String) throws {
        #expect(try configuration(environment)?.collector.description == url)
    }

    @Test func theRestIsReadAsWell() throws {
        let found = try configuration([
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_RESOURCE_ATTRIBUTES": "service.name=mill, zone=a%20b",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=s%3Dt", "OTEL_EXPORTER_OTLP_TIMEOUT": "1500",
            "OTEL_TRACES_SAMPLER": "always_off",
        ])
        #expect(found?.serviceName == "mill")
        #expect(found?.attributes == ["zone": "a b"])
        #expect(found?.collector.headers == ["x-key": "s=t"])
        #expect(found?.timeout == .milliseconds(1500))
        #expect(found?.sampler.ratio == 0)
    }

    /// A program may hand its metrics to one place, and its traces to another one.
    @Test func whatIsSaidOfTracesAloneCounts() throws {
        let found = try configuration([
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SERVICE_NAME": "shop",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=mill", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=all",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-key=traces", "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
        ])
        #expect(found?.serviceName == "shop")
        #expect(found?.collector.headers == ["x-key": "traces"])
        #expect(found?.timeout == .milliseconds(2))
    }

    @Test(arguments: [
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "https://c"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:0"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:x"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://a b"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://[::1:4318"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://::1"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://["],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:p@c"], ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c\r\nX: y"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a=b%0D%0Ac"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_TIMEOUT": "0"],
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_SAMPLER": "some"],
        [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_SAMPLER": "traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "2",
        ],
    ])
    func whatCannotBeIsSaid(_ environment: [String: String]) {
        #expect(throws: PenstockError.self) { try configuration(environment) }
    }
}
