import Testing
import Tracing

@testable import PenstockTracing

/// Contexts between processes, by W3C Trace Context.
@Suite struct TraceparentTests {
    private static let text = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

    private func context(_ headers: [String: String]) -> ServiceContext {
        var context = ServiceContext.topLevel
        Traceparent.extract(headers, into: &context, using: HeaderCarrier())
        return context
    }

    @Test(arguments: ["01", "00"])
    func goesThroughAsItCame(flags: String) {
        let headers = [
            "traceparent": String(Self.text.dropLast(2)) + flags, "tracestate": "rojo=00f067,congo=t61",
            "baggage": "a=b",
        ]
        let context = context(headers)
        #expect(context.span?.isSampled == (flags == "01"))
        var again: [String: String] = [:]
        Traceparent.inject(context, into: &again, using: HeaderCarrier())
        #expect(again == headers)
    }

    /// What the recommendation says is to be ignored, and what a later version may say.
    @Test(arguments: [
        ("", false), ("00", false), ("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7", false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", false),
        ("00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-x", false),
        ("00-0af7651916cd43dd8448eb211c80319g-00f067aa0ba902b7-01", false),
        ("00-+af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", false),
        ("00-é0f7651916cd43dd8448eb211c80319-00f067aa0ba902b7-01", false),
        ("01-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-x", true),
        ("cc-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-03", true),
    ])
    func whatIsNoneIsTakenForNone(_ text: String, _ isOne: Bool) {
        #expect((Traceparent.span(of: text) != nil) == isOne)
    }

    @Test func aStateGoesWithItsSpanAlone() {
        #expect(context(["tracestate": "a=b"]).isEmpty)
        #expect(context(["traceparent": Self.text, "tracestate": ""]).span?.state == nil)
        let long = String(repeating: "x", count: 513)
        #expect(context(["traceparent": Self.text, "tracestate": long]).span?.state == nil)
        #expect(context(["baggage": String(repeating: "x", count: 8193)]).isEmpty)
    }

    @Test(arguments: [
        ("always_on", nil, 64, true), ("always_off", nil, 0, true), ("parentbased_always_off", nil, 0, false),
        ("parentbased_always_on", nil, 64, false), ("traceidratio", "0", 0, true), ("traceidratio", "1", 64, true),
        ("parentbased_traceidratio", "0.5", 32, false),
    ])
    func samplersHaveTheirNames(_ name: String, _ argument: String?, _ count: Int, _ ignoresParent: Bool) throws {
        let sampler = try Sampler(named: name, argument: argument)
        // Evenly over all numbers that the lowest 56 bits can be.
        let traces = (0..<64).map { TraceID(high: 1, low: UInt64($0) << 50 | 0xAB << 56) }
        #expect(traces.count { sampler.samples($0, parent: nil) } == count)
        for isSampled in [true, false] {
            let parent = SpanIdentity(traceID: traces[1], spanID: SpanID(number: 1), isSampled: isSampled)
            let followed = traces.count { sampler.samples($0, parent: parent) }
            #expect(followed == (ignoresParent ? count : isSampled ? 64 : 0))
        }
    }
}
