import ArgumentParser
import Penstock
import PenstockFormats

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Make, change, pause and remove schedules: messages that are enqueued again and again.",
        discussion: """
            A spec has five fields, as in a crontab: minute, hour, day of the month, month, day of the week; or six, with \
            the second in front. A field takes *, numbers, ranges (1-5), lists (1,3) and steps (*/10); months and days of \
            the week also names (JAN, MON). L is the month's last day, 5L its last Friday, 5#2 its second. When both \
            fields for days say something, one of them is enough. There are also @hourly, @daily, @weekly, @monthly, \
            @yearly, and @every with a duration (@every 90s).

            When clocks are put forward over a time, what is to fire at that time fires then; when they are put back, it \
            fires once. A spec whose second, minute or hour begins with * goes on with the clock instead.
            """,
        subcommands: [
            ScheduleAddCommand.self, ScheduleListCommand.self, ScheduleShowCommand.self, ScheduleNextCommand.self,
            SchedulePauseCommand.self, ScheduleResumeCommand.self, ScheduleRunCommand.self, ScheduleRemoveCommand.self,
            ScheduleImportCommand.self,
        ])
}

/// The schedule that a command is about, and how it says what it did.
struct OneScheduleOptions: ParsableArguments {
    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The schedule.", transform: { try ScheduleName($0) })
    var name: ScheduleName

    /// Calls `body` with the schedule's name, and says what that did.
    @MainActor
    func change(_ verb: String, _ body: @MainActor (PenstockStore, String) async throws -> Void) async throws {
        try await storeOptions.file.use { store in
            try await body(store, name.text)
            try Output().answer(
                "Schedule \(Escape.text(name.text)) \(verb).",
                .object(["schedule": .string(name.text), verb: .bool(true)]), isJSON: storeOptions.isJSON)
        }
    }
}
