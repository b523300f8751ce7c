import ArgumentParser
import Penstock
import PenstockFormats
import PenstockSchedules

struct ScheduleNextCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "next",
        abstract: "Show when a schedule or a spec fires next, a line each, in UTC.",
        usage: "penstock schedule next <name>|--spec <spec> [<options>]",
        discussion: """
            EXAMPLES
              penstock schedule next nightly --count 10
              penstock schedule next --spec '0 3 * * *' --zone Europe/Paris
              penstock schedule next --spec '0 9 * * MON#1' --after 2030-01-01 --count 12
              penstock schedule next --spec '@every 90s' --count 3

            With --spec no file is read. Fewer lines come when there is no more to come before the year 10000.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The schedule.", transform: { try ScheduleName($0) })
    var name: ScheduleName?

    @Option(help: "Instead of a schedule: when it fires, such as '0 3 * * *'.", transform: { try ScheduleSpec($0) })
    var spec: ScheduleSpec?

    @Option(help: "With --spec: its time zone, by its name in the IANA database; else UTC.", transform: Values.zone)
    var zone: ZoneName?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The moment after which to look; from there @every counts.", valueName: "time"),
        transform: Values.time)
    var after: Timestamp?

    @Option(help: "How many to show at most.")
    var count = 5

    func validate() throws {
        if (name == nil) == (spec == nil) { throw ValidationError("Name a schedule, or give a --spec.") }
        if zone != nil, spec == nil { throw ValidationError("--zone goes with --spec.") }
        guard (1...Limits.rowsMax).contains(count) else {
            throw ValidationError("--count must be from 1 to \(Limits.rowsMax).")
        }
    }

    @MainActor func run() async throws {
        let from = after ?? SystemTime().now
        let rule: FiringRule
        if let spec {
            let zone = try ZoneFolder.system.zone(zone ?? .utc)
            rule = FiringRule(spec, zone: zone, anchor: from)
        } else if let name {
            let record = try await storeOptions.file.look { store in try await store.schedule(name.text) }
            if record.isPaused { ErrorOutput.say("The schedule is paused; it fires when it is resumed.") }
            let zone = try ZoneFolder.system.zone(ZoneName(record.schedule.zone))
            rule = try FiringRule(record.schedule, zone: zone, anchor: record.nextDue ?? from)
        } else {
            return
        }
        let output = Output()
        var moment = from
        for _ in 0..<count {
            guard let next = rule.next(after: moment) else { break }
            try output.line(.object(["due": .time(next)]), or: TimeText.short(next), isJSON: storeOptions.isJSON)
            moment = next
        }
        try output.flush()
    }
}
