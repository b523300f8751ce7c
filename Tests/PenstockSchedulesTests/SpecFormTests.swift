import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSchedules

/// What a spec can be written as, and what is said of one that cannot be.
@Suite struct SpecFormTests {
    @Test(
        "Two ways to write one spec",
        arguments: [
            ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@Weekly", "0 0 * * 0"),
            ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 jan *"),
            ("0 0 * * 7", "0 0 * * SUN"), ("0 0 * * 5-7", "0 0 * * FRI,SAT,SUN"), ("0 0 * * sat-mon", "0 0 * * 0,1,6"),
            ("0 0 * * 5-7/2", "0 0 * * 5,0"), ("0 0 * * 7-1", "0 0 * * 0,1"), ("0 0 * * 6-6", "0 0 * * 6"),
            ("0 22-2 * * *", "0 22,23,0,1,2 * * *"), ("0 0 * NOV-feb *", "0 0 * 11,12,1,2 *"),
            ("5/20 * * * *", "5,25,45 * * * *"), ("1-10/4 * * * *", "1,5,9 * * * *"), ("0 0 * * 0-7", "0 0 * * 0-6"),
            ("0 9 * * 5#2", "0 9 * * fri#2"), ("0 9 * * 0L", "0 9 * * 7l"), ("0 9 l * *", "0 9 L * *"),
            ("0 30 9 * * *", "30 9 * * *"), ("  0\t9 * *  * ", "0 9 * * *"), ("@every 1h30m", "@every 90m"),
            ("@every 1d", "@every 24h"),
        ])
    func sameSpec(_ first: String, _ second: String) throws {
        #expect(try ScheduleSpec(first).kind == ScheduleSpec(second).kind)
    }

    @Test func spacesAreOne() throws {
        #expect(try ScheduleSpec(" 0   3\t* * *").text == "0 3 * * *")
    }

    @Test(
        "What cannot be is said in a sentence",
        arguments: [
            ("", "A schedule's spec cannot be empty; write five fields such as '0 3 * * *', or @daily."),
            (
                "0 3 * *",
                "'0 3 * *' has 4 fields; a spec has five (minute, hour, day of the month, month, day of the week), or six with the second in front."
            ),
            (
                "hello",
                "'hello' has 1 field; a spec has five (minute, hour, day of the month, month, day of the week), or six with the second in front."
            ),
            ("60 * * * *", "'60' is no minute; write 0 to 59."),
            ("* 24 * * *", "'24' is no hour; write 0 to 23."),
            ("-1 * * * *", "A number is missing in the field for the minute of '-1 * * * *'."),
            ("1- * * * *", "A number is missing in the field for the minute of '1- * * * *'."),
            (",1 * * * *", "A number is missing in the field for the minute of ',1 * * * *'."),
            ("1k * * * *", "'1k' is no minute; write 0 to 59."),
            ("* * 0 * *", "'0' is no day of the month; write 1 to 31."),
            ("* * * 13 *", "'13' is no month; write 1 to 12 or JAN to DEC."),
            ("* * * * 8", "'8' is no day of the week; write 0 to 7 or SUN to SAT, and 0 and 7 are Sunday."),
            ("* * * * monday", "'monday' is no day of the week; write 0 to 7 or SUN to SAT, and 0 and 7 are Sunday."),
            ("* * MON * *", "'MON' is no day of the month; write 1 to 31."),
            (
                "*/0 * * * *",
                "'/0' is no step for the minute; write a number from 1 to 59, or for other periods a spec such as @every 90m."
            ),
            (
                "*/90 * * * *",
                "'/90' is no step for the minute; write a number from 1 to 59, or for other periods a spec such as @every 90m."
            ),
            (
                "*/ * * * *",
                "'/' is no step for the minute; write a number from 1 to 59, or for other periods a spec such as @every 90m."
            ),
            (
                "1/2147483648 * * * *",
                "'/2147483648' is no step for the minute; write a number from 1 to 59, or for other periods a spec such as @every 90m."
            ),
            ("* L * * *", "'L' is no hour; write 0 to 23."),
            ("* * * * L", "'L' is no day of the week; write 0 to 7 or SUN to SAT, and 0 and 7 are Sunday."),
            ("* * 15W * *", "'15W' is no day of the month: the nearest working day cannot be named."),
            ("* * L-3 * *", "'L-3' is no day of the month: of days counted from its end, L is the last one."),
            ("* * * * 5#6", "'5#6' is no day of the week; behind # stands a number from 1 to 5, such as FRI#2."),
            ("? * * * *", "'?' is no minute; write 0 to 59."),
            ("0 0 30 2 *", "'0 0 30 2 *' would never fire: none of its months has such a day."),
            ("0 0 31 4,6,9,11 *", "'0 0 31 4,6,9,11 *' would never fire: none of its months has such a day."),
            ("0 0 */30 * MON#2", "'0 0 */30 * MON#2' would never fire: none of its months has such a day."),
            ("TZ=UTC 0 0 * * *", "A spec has no zone in it; take TZ=UTC away, and give the zone beside the spec."),
            ("@reboot", "@reboot is no time; enqueue a message when the machine starts instead."),
            (
                "@hourly 5",
                "'@hourly 5' is no spec; there are @hourly, @daily, @weekly, @monthly, @yearly and @every with a duration, such as @every 90s."
            ),
            (
                "@every",
                "'@every' needs a duration of whole seconds after @every, the largest unit first, such as 90s, 5m, 1h30m or 7d."
            ),
            (
                "@every 500ms",
                "'@every 500ms' needs a duration of whole seconds after @every, the largest unit first, such as 90s, 5m, 1h30m or 7d."
            ),
            (
                "@every 1m1h",
                "'@every 1m1h' needs a duration of whole seconds after @every, the largest unit first, such as 90s, 5m, 1h30m or 7d."
            ),
            ("@every 0s", "The duration of '@every 0s' must be from 1s to 3650d."),
            ("@every 3651d", "The duration of '@every 3651d' must be from 1s to 3650d."),
            ("0 3 * * *\u{1B}[2J", "A schedule's spec has letters, digits, spaces and * , - / # @ alone."),
            ("\u{0663} * * * *", "A schedule's spec has letters, digits, spaces and * , - / # @ alone."),
            (String(repeating: "1,", count: 100) + "1 * * * *", "A schedule's spec has at most 200 bytes."),
        ])
    func refused(_ text: String, _ sentence: String) {
        let error = #expect(throws: PenstockError.self) { try ScheduleSpec(text) }
        #expect(error?.code == .invalidInput)
        #expect(error?.message == sentence)
    }

    @Test(
        "29 February on a Monday is rare, and not impossible", arguments: ["0 0 29 2 *", "0 0 29 2 */1", "0 0 * 2 1#5"])
    func rare(_ text: String) throws {
        _ = try ScheduleSpec(text)
    }

    @Test("No bytes trap")
    func anyBytes() {
        let random = SeededRandom(seed: 11)
        let alphabet = Array("0123456789*,-/#@ LWSUNMONJANevery smhd\t".unicodeScalars)
        for _ in 0..<5000 {
            let scalars = (0..<random.next(in: 0...40)).map { _ in alphabet[random.next(in: 0...alphabet.count - 1)] }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            if let spec = try? ScheduleSpec(text) {
                _ = spec.next(after: Timestamp(microseconds: 0), in: .utc)
            }
        }
    }
}
