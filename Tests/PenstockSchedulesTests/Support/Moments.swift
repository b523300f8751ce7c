import PenstockCore
import PenstockSchedules
import Testing

/// Times as these tests write them: `2016-03-13 01:59:30 -05:00`; seconds and offset may be missing, the offset is then UTC.
func moment(_ text: String) throws -> Timestamp {
    let words = text.split(separator: " ")
    let date = try words[0].split(separator: "-").map { try #require(Int64($0)) }
    let clock = try (words.count > 1 ? words[1] : "00:00").split(separator: ":").map { try #require(Int64($0)) }
    let days = CivilDay(year: date[0], month: date[1], day: date[2]).daysSinceEpoch
    var second = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + (clock.count > 2 ? clock[2] : 0)
    if words.count > 2 {
        let offset = try words[2].dropFirst().split(separator: ":").map { try #require(Int64($0)) }
        second -= (words[2].hasPrefix("-") ? -1 : 1) * (offset[0] * 3600 + offset[1] * 60)
    }
    return Timestamp(microseconds: second * 1_000_000)
}

func zone(_ name: String) throws -> Zone {
    try ZoneFolder.system.zone(ZoneName(name))
}

extension ScheduleSpec {
    /// The next firing, with `moment` as the anchor as well.
    func next(after moment: Timestamp, in zone: Zone) -> Timestamp? {
        next(after: moment, in: zone, anchor: moment)
    }

    /// The seconds at which it fires after `start`, up to `end`.
    func seconds(after start: Int64, until end: Int64, in zone: Zone) -> [Int64] {
        var found: [Int64] = []
        var at = Timestamp(microseconds: start * 1_000_000)
        while let next = next(after: at, in: zone), next.microseconds <= end * 1_000_000 {
            found.append(next.microseconds / 1_000_000)
            at = next
        }
        return found
    }
}
