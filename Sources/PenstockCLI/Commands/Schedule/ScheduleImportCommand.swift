import ArgumentParser
import Penstock
import PenstockFormats
import PenstockSchedules

struct ScheduleImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Make schedules of another program's file.",
        subcommands: [ScheduleImportCrontabCommand.self])
}

struct ScheduleImportCrontabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crontab",
        abstract: "Make a schedule of each entry of a crontab, and report what cannot be one.",
        discussion: """
            EXAMPLES
              crontab -l | penstock schedule import crontab - --queue cron --zone Europe/Paris
              penstock schedule import crontab /etc/crontab --queue cron --system --dry-run

            An entry's command, with the settings before it, becomes the payload, a script that a worker runs: \
            penstock work cron -- sh. Schedules are called crontab-LINE; --replace makes those of an earlier import into the \
            queue anew, and names those whose lines are gone.

            What cron does and a schedule does not is said of each entry: mail, users, shells other than sh. An entry \
            with input behind a %, one at @reboot, or one that would never fire is left out, and the exit status is 1.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The crontab, or - for standard input.", completion: .file())
    var crontab: String

    @Option(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @Option(help: "The time zone of its entries; else UTC. A CRON_TZ in it goes first.", transform: Values.zone)
    var zone = ZoneName.utc

    @Option(help: .init("What the schedules' names begin with.", valueName: "text"))
    var prefix = "crontab-"

    @Flag(help: "Its sixth column is a user, as in /etc/crontab.")
    var system = false

    @Flag(help: "Enqueue nothing while an entry's last message waits or runs.")
    var unique = false

    @Flag(help: "Replace schedules of these names in the queue.")
    var replace = false

    @Flag(help: "Only report.")
    var dryRun = false

    private static let bytesMax = 1024 * 1024

    @MainActor func run() async throws {
        let bytes = try InputFile.readAll(
            crontab, bytesMax: Self.bytesMax, limit: "a crontab's size", remedy: "import it in parts")
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw PenstockError(
                .invalidInput, "The crontab holds bytes that are no text in UTF-8; write it anew without them.")
        }
        let entries = Crontab(text, hasUsers: system, zone: zone).entries
        var report: [Line] = []
        let known: [ScheduleRecord]
        if dryRun {
            known = try await knownSchedules()
            for entry in entries { report.append(try line(entry, schedule(of: entry), known)) }
        } else {
            known = try await storeOptions.file.use(queue: queue) { store in
                let known = try await store.schedules()
                for entry in entries { report.append(try await make(entry, in: store, known)) }
                return known
            }
        }
        let gone = replace ? others(than: entries, known) : []
        let output = Output()
        try output.answer("The schedules are made, but the report cannot be shown.") { () throws(Failure) in
            for line in report { try output.line(line.json, or: line.text, isJSON: storeOptions.isJSON) }
            for name in gone {
                try output.line(
                    .object(["gone": .string(name.text)]),
                    or: Escape.text("\(name): its line is gone, and it stays; penstock schedule remove ends it"),
                    isJSON: storeOptions.isJSON)
            }
        }
        let leftOut = report.count { $0.problem != nil }
        if leftOut > 0 { throw Failure(.finding, "\(leftOut) of \(report.count) entries left out.") }
    }

    private func make(
        _ entry: Crontab.Entry, in store: PenstockStore, _ known: [ScheduleRecord]
    ) async throws -> Line {
        let made = try schedule(of: entry)
        var line = try line(entry, made, known)
        guard let (name, schedule) = made, line.problem == nil else { return line }
        do {
            let record = try await store.storage.schedule(name, .put(schedule, replacing: replace))
            line.nextDue = record?.nextDue
            if record?.isPaused == true { line.notes.append("it is paused") }
        } catch let error as PenstockError where error.code == .scheduleExists {
            line.problem = error.message
        }
        return line
    }

    /// The schedules that there are; none where there is no file yet.
    @MainActor private func knownSchedules() async throws -> [ScheduleRecord] {
        guard storeOptions.file.exists else { return [] }
        do {
            return try await storeOptions.file.look { try await $0.schedules() }
        } catch let error as PenstockError where error.code == .notFound {
            return []
        }
    }

    /// What is to be said of an entry beside schedules that are there.
    private func line(
        _ entry: Crontab.Entry, _ made: (name: ScheduleName, schedule: Schedule)?, _ known: [ScheduleRecord]
    ) throws -> Line {
        var line = try Line(entry, made)
        guard line.problem == nil, let there = known.first(where: { $0.name == made?.name }) else { return line }
        if there.schedule.queue != queue {
            // One of another queue is none that an import into this one has made.
            line.problem =
                "there is a schedule '\(there.name)' of the queue '\(there.schedule.queue)'; choose a --prefix"
        } else if !replace {
            line.problem = "there is a schedule '\(there.name)' already; replace it (--replace)"
        }
        return line
    }

    /// Schedules of the queue that are called as an import calls them, and whose lines are gone. Nobody knows whether an import
    /// has made them, so they are named and left.
    private func others(than entries: [Crontab.Entry], _ known: [ScheduleRecord]) -> [ScheduleName] {
        let kept = Set(entries.map { prefix + String($0.lineNumber) })
        return known.filter { record in
            let number = record.name.text.dropFirst(prefix.count)
            return record.schedule.queue == queue && record.name.text.hasPrefix(prefix) && !number.isEmpty
                && number.allSatisfy { $0.isASCII && $0.isNumber } && !kept.contains(record.name.text)
        }.map(\.name)
    }

    private func schedule(of entry: Crontab.Entry) throws -> (ScheduleName, Schedule)? {
        guard let spec = entry.spec else { return nil }
        let name = try ScheduleName(prefix + String(entry.lineNumber))
        let message = NewMessage(
            payload: Array(entry.script.utf8), uniqueKey: unique ? UniqueKey("schedule \(name)") : nil)
        return (name, Schedule(queue: queue, spec: spec.text, zone: entry.zone.text, message: message))
    }

    /// What became of one entry.
    private struct Line {
        var number: Int
        var name: String?
        var nextDue: Timestamp?
        var notes: [String]
        var problem: String?

        init(_ entry: Crontab.Entry, _ made: (name: ScheduleName, schedule: Schedule)?) throws {
            number = entry.lineNumber
            name = made?.name.text
            notes = entry.notes
            problem = entry.problem
            guard let made else { return }
            do {
                let now = SystemTime().now
                let zone = try made.schedule.validated(now: now)
                nextDue = try FiringRule(made.schedule, zone: zone, anchor: now).next(after: now)
            } catch {
                problem = error.message
            }
        }

        var text: String {
            if let problem { return Escape.text("line \(number): left out: \(problem)") }
            let next = nextDue.map { "next at \(TimeText.short($0))" } ?? "never"
            return Escape.text((["line \(number): \(name ?? ""), \(next)"] + notes).joined(separator: "; "))
        }

        var json: JSONValue {
            .object([
                "line": .integer(number),
                "schedule": .optional(problem == nil ? name : nil) { .string($0) },
                "nextDue": .optional(problem == nil ? nextDue : nil, JSONValue.time),
                "notes": .array(notes.map { .string($0) }),
                "problem": .optional(problem) { .string($0) },
            ])
        }
    }
}
