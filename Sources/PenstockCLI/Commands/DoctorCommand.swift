import ArgumentParser
import Penstock
import PenstockFormats

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong with the file or the database and its workers, and repair a file if told to.",
        discussion: """
            EXAMPLES
              penstock doctor
              penstock doctor --stuck-after 10m
              penstock doctor --json | jq '.findings[].message'
              penstock doctor --repair --dry-run
              penstock doctor --repair
              penstock --db postgres://mill@db.example/shop doctor

            Each line begins with ok, note, warn or fail. Checks the file's structure, its schema, the folder beside it, \
            the write-ahead log and who holds it, leases and workers, headers and times, and that what the queues count \
            is what is there. Reads the whole file, which takes a while on a large one. Without --repair no message \
            changes.

            With --repair it makes the file agree with itself: rows that contradict the rest are set aside in the table \
            penstock_quarantine with the reason, messages of the log that are nowhere in line become dead letters, and \
            depths, keys, cursors, sequence numbers, headers and times are put right. Indexes, views and triggers that are \
            missing are made anew, and files beside the database get its owner and mode. Workers may run meanwhile. Add --dry-run to be told \
            what it would do.

            Of a PostgreSQL database it looks at the server instead of a file: a pooler of transactions in between, settings \
            with which nothing is safe, standbys that do not have what was acknowledged, what holds vacuum back, tables of dead rows, clocks, \
            connections, the role's rights; and at leases and rows as above. Nothing is repaired there.

            Exit status 1 when anything fails, with --repair or --dry-run when anything still does.
            """)

    @OptionGroup var fileOptions: OnlyFileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Option(
        help: .init("How long a worker may hold one message before it is named.", valueName: "duration"),
        transform: Values.duration)
    var stuckAfter: Duration = .seconds(3600)

    @Flag(help: "Make the file agree with itself again, and say what was done.")
    var repair = false

    @Flag(help: "With --repair: only say what would be done.")
    var dryRun = false

    func validate() throws {
        if dryRun, !repair { throw ValidationError("--dry-run is for --repair; without it nothing is changed.") }
    }

    @MainActor func run() async throws {
        let file = try fileOptions.fileOrDatabase(for: "doctor")
        if repair { try file.requireFile(for: "doctor --repair") }
        try file.refuseMissing()
        let output = Output()
        let repaired = repair ? try await PenstockStore.repair(path: file.path, dryRun: dryRun) : nil
        let report = try await file.inspect(stuckAfter: stuckAfter)
        try output.answer(repaired?.sentence.map { "\($0) But that cannot be shown." }) { () throws(Failure) in
            if outputOptions.isJSON {
                if let repaired { try output.line(repaired.json) }
                try output.line(report.json)
            } else {
                for line in (repaired?.lines ?? []) + report.lines { try output.line(line) }
            }
        }
        let failures = report.findings.filter { $0.severity == .error }
        if !failures.isEmpty {
            let failed = failures.count
            // A damaged file is not repaired, nor one of a newer program, nor a folder that may be another user's.
            let isMendable =
                report.server == nil
                && failures.allSatisfy { ![.damaged, .unreadable, .newerSchema].contains($0.kind) }
                && failures.contains { $0.kind != .wrongFolder }
            throw Failure(
                .finding,
                "\(failed) of the checks failed"
                    + (repair
                        ? ", \(dryRun ? "and nothing was repaired" : "also after the repair")."
                        : isMendable ? "; `penstock doctor --repair --dry-run` says what can be repaired." : "."))
        }
    }
}
