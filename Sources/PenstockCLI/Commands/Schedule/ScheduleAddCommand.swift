import ArgumentParser
import Penstock
import PenstockFormats
import PenstockSchedules

struct ScheduleAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Make a schedule: a message that is enqueued again and again.",
        usage: "penstock schedule add <name> <spec> --queue <queue> [<payload>|-] [<options>]",
        discussion: """
            EXAMPLES
              penstock schedule add nightly '0 3 * * *' --zone Europe/Paris --queue reports sales
              penstock schedule add poll '@every 90s' --queue feeds --unique https://example.com/feed
              penstock schedule add rent '0 9 L * *' --queue mail --missed all --file letter.txt

            The payload is the argument, a --file, or standard input. Any worker on the file carries schedules out, those of \
            its own queue and of others; without one they fire when one comes, as --missed says.

            For what a spec can say: penstock schedule --help. To see what it means: penstock schedule next.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The schedule's name.", transform: { try ScheduleName($0) })
    var name: ScheduleName

    @Argument(help: "When it fires, such as '0 3 * * *'.", transform: { try ScheduleSpec($0) })
    var spec: ScheduleSpec

    @Argument(help: "The payload, or - for standard input.")
    var payload: String?

    @Option(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @Option(help: "The time zone of the spec, by its name in the IANA database.", transform: Values.zone)
    var zone = ZoneName.utc

    @Option(help: .init("Read the payload from this file.", valueName: "path"), completion: .file())
    var file: String?

    @OptionGroup(title: "Messages") var scheduleOptions: ScheduledMessageOptions

    @Option(
        help: .init(
            "What becomes of firings that were more than a minute late: skip, one or all.", valueName: "what"),
        completion: .list(["skip", "one", "all"]), transform: Values.missed)
    var missed: MissedFirings = .one

    @Option(
        help: .init("With --missed all: how old they may be; a day.", valueName: "duration"), transform: Values.duration
    )
    var window: Duration?

    @Option(
        help: .init("Put each message off by a random part of this.", valueName: "duration"),
        transform: Values.duration)
    var jitter: Duration = .zero

    @Option(
        parsing: .unconditional, help: .init("Nothing fires before this.", valueName: "time"), transform: Values.time)
    var starts: Timestamp?

    @Option(
        parsing: .unconditional, help: .init("Nothing fires after this.", valueName: "time"), transform: Values.time)
    var ends: Timestamp?

    @Flag(help: "Make the schedule of that name this one, if there is one.")
    var replace = false

    func validate() throws {
        if window != nil && missed != .all { throw ValidationError("--window goes with --missed all.") }
        if file != nil && payload != nil { throw ValidationError("A payload and --file exclude each other.") }
    }

    @MainActor func run() async throws {
        let schedule = Schedule(
            queue: queue, spec: spec.text, zone: zone.text,
            message: scheduleOptions.message(try InputFile.payload(payload, orOf: file), of: name),
            missed: missed, window: window ?? .seconds(86_400), jitter: jitter, starts: starts, ends: ends)
        _ = try schedule.validated(now: SystemTime().now)
        try await storeOptions.file.use(queue: queue) { store in
            guard let record = try await store.storage.schedule(name, .put(schedule, replacing: replace)) else {
                return
            }
            let next =
                record.isPaused
                ? "is paused; it fires when it is resumed"
                : record.nextDue.map { "fires next at \(TimeText.short($0))" } ?? "fires no more"
            try Output().answer(
                "Schedule \(Escape.text(name.text)) \(next).", record.json, isJSON: storeOptions.isJSON)
        }
    }
}

/// What travels with each message of a schedule.
struct ScheduledMessageOptions: ParsableArguments {
    @OptionGroup var envelope: EnvelopeOptions

    @Option(help: .init("A key; nothing is enqueued while another message has it.", valueName: "text"))
    var key: String?

    @OptionGroup var scopeOptions: KeyScopeOptions

    @Flag(
        help:
            "Enqueue nothing while the last message waits or runs, or as --key-scope says: a --key of the schedule's own."
    )
    var unique = false

    func validate() throws {
        if scopeOptions.keyScope != nil && key == nil && !unique {
            throw ValidationError("--key-scope goes with --key or --unique.")
        }
        if unique && key != nil { throw ValidationError("--unique and --key exclude each other.") }
    }

    func message(_ payload: [UInt8], of name: ScheduleName) -> NewMessage {
        envelope.message(
            payload,
            key: (unique ? "schedule \(name)" : key).map { key in
                UniqueKey(key, scope: scopeOptions.keyScope ?? .untilEnded)
            })
    }
}
