import Testing

@testable import PenstockMetrics

@Suite struct PrometheusTextTests {
    @Test func labelsAreEscaped() {
        #expect(PrometheusText.label("a\"b\\c\nd") == #"a\"b\\c\nd"#)
    }
}
