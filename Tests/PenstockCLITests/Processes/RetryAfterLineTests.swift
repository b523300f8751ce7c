import Penstock
import Testing

@testable import PenstockCLI

/// The line by which a command says how long the other end is to be left alone.
struct RetryAfterLineTests {
    /// 2026-11-24T12:00:00Z.
    private let now = Timestamp(microseconds: 1_795_521_600_000_000)

    @Test(arguments: [
        ("Retry-After: 30", Duration.seconds(30)),
        ("retry-after:5m", .seconds(300)),
        ("Retry-After: 0", .zero),
        ("Retry-After: 1\nother\nRetry-After: 2\n", .seconds(2)),
        ("Retry-After: 7\nRetry-After: soon", .seconds(7)),
        ("Retry-After: Tue, 24 Nov 2026 12:00:45 GMT", .seconds(45)),
        ("Retry-After: Tue, 24 Nov 2026 11:00:00 GMT", .zero),
        ("Retry-After: 9223372036854775807", .seconds(86_400)),
        ("Retry-After: 99999999999999999999999999", .seconds(86_400)),
        ("Retry-After: Sun, 24 Nov 2030 00:00:00 GMT", .seconds(86_400)),
    ])
    func saysHowLong(text: String, expected: Duration) {
        #expect(RetryAfterLine.duration(in: text, now: now) == expected)
    }

    @Test(arguments: [
        "", "Retry-After:", "Retry-After: -1", "Retry-After: soon", "Retry-After: Tue, 24 Foo 2026 12:00:45 GMT",
    ])
    func saysNothing(text: String) {
        #expect(RetryAfterLine.duration(in: text, now: now) == nil)
    }
}
