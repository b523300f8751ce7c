import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSchedules

/// Zones, and the files that they are read from.
@Suite struct ZoneTests {
    @Test("Offsets are those that Foundation has", arguments: SlowTransitionTests.names)
    func likeFoundation(_ name: String) throws {
        let zone = try zone(name)
        let other = try #require(TimeZone(identifier: name))
        let random = SeededRandom(seed: 5)
        // Foundation may have other data: no older than 2010 and no newer than 2022 all agree.
        for _ in 0..<500 {
            let second = Int64(random.next(in: 1_262_304_000...1_640_995_200))
            let expected = other.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
            #expect(zone.span(at: second).offset == Int64(expected), "\(name) at \(second)")
        }
    }

    @Test("Spans follow each other without end", arguments: SlowTransitionTests.names)
    func spansJoin(_ name: String) throws {
        let zone = try zone(name)
        var span = zone.span(at: Zone.distantPast)
        #expect(span.start == Zone.distantPast)
        for _ in 0..<600 {
            guard span.end < Zone.distantFuture else { return }
            let next = zone.span(at: span.end)
            #expect(next.start == span.end && next.end > next.start)
            let last = zone.span(at: span.end - 1)
            #expect(last.start == span.start && last.end == span.end && last.offset == span.offset)
            span = next
        }
    }

    @Test(
        "Rules of POSIX for years to come",
        arguments: [
            // Rule, moment, offset: glibc's `date` says the same of each.
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2100-03-28 00:59:59", 3600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2100-03-28 01:00", 7200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2100-10-31 01:00", 3600),
            ("EST5EDT,M3.2.0,M11.1.0", "2050-03-13 07:00", -14_400),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2051-01-01", 39_600),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2051-07-01", 37_800),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2060-01-15", 0), ("IST-1GMT0,M10.5.0,M3.5.0/1", "2060-07-15", 3600),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-07-01", -3600),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2050-07-01", 10_800),
            ("EST5EDT,0/0,J365/25", "2050-01-01 04:59:59", -14_400),
            ("EST5EDT,0/0,J365/25", "2050-01-01 05:00", -14_400),
            ("XXX3YYY,J60/0,J300/0", "2048-03-01 02:59:59", -10_800),
            ("XXX3YYY,J60/0,J300/0", "2048-03-01 03:00", -7200),
            ("XXX3YYY,59/0,300/0", "2048-02-29 03:00", -7200), ("<-03>3", "2050-01-01", -10_800),
        ])
    func yearlyRules(_ text: String, _ at: String, _ offset: Int64) throws {
        let years = try #require(YearlyChanges(Array(text.utf8)[...]))
        let zone = Zone(name: .utc, fingerprint: 1, changes: [], firstOffset: 0, years: years)
        #expect(try zone.span(at: moment(at).microseconds / 1_000_000).offset == offset)
    }

    @Test(
        "What is no rule",
        arguments: [
            "", "E5", "EST", "EST25", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0",
            "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J365", "EST5EDT,J366,J1", "EST5EDT,366,1", "EST5EDT,0/168,1", "<EST5",
            "EST5 ",
            "EST5:60", "EST5EDT,M3.2.0,M11.1.0,", "EST99999999999999999999",
        ])
    func noRule(_ text: String) {
        #expect(YearlyChanges(Array(text.utf8)[...]) == nil)
    }

    @Test(
        "Names that cannot be",
        arguments: [
            "", "/etc/passwd", "../../etc/passwd", "Europe/../Paris", "Europe//Paris", "Europe/Paris/", ".", "Europe/.",
            "-x",
            "Europe/Paris\0", "Europe Paris", "Europe/Pa\u{301}ris", String(repeating: "a", count: 65), "C:\\Windows",
        ])
    func badNames(_ name: String) {
        let error = #expect(throws: PenstockError.self) { try ZoneName(name) }
        #expect(
            error?.message
                == "A time zone is written as in the IANA database, such as Europe/Paris, America/New_York or UTC.")
    }

    @Test func unknownZone() {
        let error = #expect(throws: PenstockError.self) { try zone("Europe/Atlantis") }
        #expect(
            error?.message
                == "There is no time zone 'Europe/Atlantis'; zones are called as in the IANA database, such as Europe/Paris."
        )
        // A folder, and a file of another kind.
        #expect(throws: PenstockError.self) { try zone("Europe") }
        let leaping = #expect(throws: PenstockError.self) { try zone("right/Europe/Paris") }
        #expect(leaping?.message.contains("counts leap seconds") == true)
    }

    @Test func machineWithoutZones() throws {
        let folder = TemporaryFolder()
        let zones = ZoneFolder(paths: [folder.path])
        #expect(try zones.zone(.utc).span(at: 0).offset == 0)
        #expect(try zones.zone(ZoneName("Etc/UTC")).fingerprint == 0)
        let error = #expect(throws: PenstockError.self) { try zones.zone(ZoneName("Europe/Paris")) }
        #expect(error?.code == .notFound)
        #expect(
            error?.message
                == "This machine has no time zone data, so it knows only UTC; install the package tzdata, or set TZDIR to a folder that has it."
        )
    }

    /// Where updates bring newer data, it lies in a folder of its own, and the system's has what that one lacks.
    @Test func theFirstFolderThatHasTheZoneIsRead() throws {
        let (first, second) = (TemporaryFolder(), TemporaryFolder())
        defer { withExtendedLifetime((first, second)) {} }
        let (newer, older) = (try bytes("Europe/London"), try bytes("Europe/Paris"))
        for folder in [first, second] {
            try FileManager.default.createDirectory(
                atPath: folder.file("Europe"), withIntermediateDirectories: true)
        }
        try Data(newer).write(to: URL(fileURLWithPath: first.file("Europe/Paris")))
        for name in ["Europe/Paris", "Europe/Berlin"] {
            try Data(older).write(to: URL(fileURLWithPath: second.file(name)))
        }
        let zones = ZoneFolder(paths: [first.path, second.path])
        #expect(try zones.zone(ZoneName("Europe/Paris")).fingerprint == ZoneData.fingerprint(newer))
        #expect(try zones.zone(ZoneName("Europe/Berlin")).fingerprint == ZoneData.fingerprint(older))
    }

    /// A pipe has no zone, and to open one can take until another program writes into it.
    @Test func whatIsNoFileIsPassedOver() throws {
        let (first, second) = (TemporaryFolder(), TemporaryFolder())
        defer { withExtendedLifetime((first, second)) {} }
        for folder in [first, second] {
            try FileManager.default.createDirectory(
                atPath: folder.file("Europe"), withIntermediateDirectories: true)
        }
        #expect(mkfifo(first.file("Europe/Paris"), 0o600) == 0)
        let data = try bytes("Europe/Paris")
        try Data(data).write(to: URL(fileURLWithPath: second.file("Europe/Paris")))
        let zones = ZoneFolder(paths: [first.path, second.path])
        #expect(try zones.zone(ZoneName("Europe/Paris")).fingerprint == ZoneData.fingerprint(data))
    }

    @Test("Other data has another fingerprint")
    func fingerprints() throws {
        let paris = try bytes("Europe/Paris")
        #expect(try zone("Europe/Paris").fingerprint == ZoneData.fingerprint(paris))
        #expect(try zone("Europe/Paris").fingerprint != zone("Europe/London").fingerprint)
        #expect(ZoneData.fingerprint(paris + [0]) != ZoneData.fingerprint(paris))
    }

    @Test("A file of version 1 alone")
    func firstVersion() throws {
        var data = Array("TZif".utf8) + Array(repeating: UInt8(0), count: 16)
        data += [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 8]
        data += [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 100, 1, 0]
        data += [0, 0, 0, 0, 0, 0, 0, 0, 0x0E, 0x10, 1, 4]
        data += Array("UTC\0ONE\0".utf8)
        let read = try #require(ZoneData(data))
        #expect(read.changes == [Zone.Change(second: -1, offset: 3600), Zone.Change(second: 100, offset: 0)])
        #expect(read.firstOffset == 0 && read.years == nil)
        #expect(ZoneData(Array(data.dropLast())) == nil)
    }

    /// Each moment of such a file is later than that of a system's clock, by as many seconds, and a schedule would fire too late.
    @Test func aFileThatCountsLeapSecondsIsRefused() {
        func data(leapSeconds: UInt8) -> [UInt8] {
            var data = Array("TZif".utf8) + Array(repeating: UInt8(0), count: 16)
            data += [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, leapSeconds, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]
            data += [0, 0, 0x0E, 0x10, 0, 0] + Array("ONE\0".utf8)
            for number in 0..<leapSeconds { data += [0x04, 0xB2, 0x58, number, 0, 0, 0, number + 1] }
            return data
        }
        #expect(ZoneData(data(leapSeconds: 0))?.firstOffset == 3600)
        #expect(ZoneData(data(leapSeconds: 1)) == nil)
    }

    @Test("No bytes trap", arguments: ["Europe/Paris", "Australia/Lord_Howe", "Africa/Casablanca"])
    func hostileBytes(_ name: String) throws {
        let bytes = try bytes(name)
        #expect(ZoneData(bytes) != nil)
        for length in 0..<bytes.count { #expect(ZoneData(Array(bytes[..<length])) == nil) }
        let random = SeededRandom(seed: 3)
        let spec = try ScheduleSpec("30 2 * * *")
        for _ in 0..<3000 {
            var broken = bytes
            for _ in 0...random.next(in: 0...4) {
                // Most of them where the counts are.
                let place = random.chance(0.5) ? random.next(in: 0...60) : random.next(in: 0...bytes.count - 1)
                broken[place] = UInt8(random.next(in: 0...255))
            }
            guard let data = ZoneData(broken) else { continue }
            let zone = Zone(
                name: .utc, fingerprint: 1, changes: data.changes, firstOffset: data.firstOffset, years: data.years)
            _ = spec.next(after: Timestamp(microseconds: 1_700_000_000_000_000), in: zone)
        }
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/\(name)")))
    }
}
