import PenstockCore
import PenstockSchedules
import Testing

/// The next firing: its ends, its anchors, and its speed.
@Suite struct NextFiringTests {
    @Test(
        "What comes once in decades is found at once",
        arguments: [
            ("0 0 29 2 */1", "2096-03-01", "2104-02-29"), ("0 0 29 2 *", "2096-02-29", "2104-02-29"),
            ("0 0 * 2 MON#5", "2072-03-01", "2112-02-29"),
            ("59 59 23 31 12 *", "2020-12-31 23:59:59", "2021-12-31 23:59:59"),
        ])
    func rare(_ spec: String, _ after: String, _ next: String) throws {
        let spec = try ScheduleSpec(spec)
        let clock = ContinuousClock()
        for name in ["UTC", "America/New_York"] {
            let zone = try zone(name)
            var found: Timestamp?
            let time = try clock.measure { found = spec.next(after: try moment(after), in: zone) }
            if name == "UTC" { #expect(try found == moment(next)) }
            #expect(time < .seconds(30), "A search without an end takes minutes.")
        }
    }

    @Test("What only a gap has is never shown, and the search ends")
    func onlyInAGap() throws {
        // On the last Sunday of March Berlin has no hour of two.
        let spec = try ScheduleSpec("* 2 */1 3 SUNL")
        #expect(try spec.next(after: moment("2000-01-01"), in: zone("Europe/Berlin")) == nil)
        #expect(
            try ScheduleSpec("5 2 */1 3 SUNL").next(after: moment("2024-01-01"), in: zone("Europe/Berlin"))
                == moment("2024-03-31 01:00"))
    }

    @Test("A moment between two seconds")
    func betweenSeconds() throws {
        let spec = try ScheduleSpec("* * * * * *")
        let second = try moment("2020-01-01 00:00:10")
        #expect(spec.next(after: second - .microseconds(1), in: .utc) == second)
        #expect(spec.next(after: second, in: .utc) == second + .seconds(1))
        #expect(spec.next(after: Timestamp(microseconds: -1), in: .utc) == Timestamp(microseconds: 0))
    }

    @Test("Beyond the ends of time nothing traps", arguments: ["* * * * * *", "0 0 29 2 *", "@every 7d"])
    func ends(_ text: String) throws {
        let spec = try ScheduleSpec(text)
        for name in ["UTC", "Europe/Paris"] {
            let zone = try zone(name)
            #expect(spec.next(after: Timestamp(microseconds: .max), in: zone) == nil)
            #expect(try spec.next(after: moment("9999-12-31 23:59:59"), in: zone) == nil)
            _ = spec.next(after: Timestamp(microseconds: .min), in: zone)
        }
        #expect(spec.next(after: Timestamp(microseconds: .max), in: .utc, anchor: Timestamp(microseconds: .min)) == nil)
    }

    @Test("A period counts from its anchor")
    func period() throws {
        let spec = try ScheduleSpec("@every 90s")
        let anchor = try moment("2020-01-01 00:00:10")
        #expect(spec.next(after: anchor - .seconds(3600), in: .utc, anchor: anchor) == anchor)
        #expect(spec.next(after: anchor, in: .utc, anchor: anchor) == anchor + .seconds(90))
        #expect(spec.next(after: anchor + .seconds(91), in: .utc, anchor: anchor) == anchor + .seconds(180))
    }
}
