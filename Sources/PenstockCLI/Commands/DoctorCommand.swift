import ArgumentParser
import Penstock

/// `penstock doctor`
struct DoctorCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong with the file or its workers. Changes nothing.",
        discussion: """
            EXAMPLES
              penstock doctor
              penstock doctor --stuck-after 10m
              penstock doctor --json | jq '.findings[].message'

            Each line begins with ok, note, warn or fail. Checks the file's structure, its schema, the write-ahead log \
            and who holds it, leases and workers, and that what the queues count is what is there. Reads the whole \
            file, which takes a while on a large one.

            Exit status 1 when anything fails.
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Option(
        help: .init("How long a worker may hold one message before it is named.", valueName: "duration"),
        transform: Values.duration)
    var stuckAfter: Duration = .seconds(3600)

    func execute() async throws {
        let file = fileOptions.file
        guard file.exists else { throw file.missing }
        let report = try await PenstockStore.inspectHealth(path: file.path, stuckAfter: stuckAfter)
        let output = Output()
        if outputOptions.isJSON {
            try output.line(report.json)
        } else {
            for line in report.lines { try output.line(line) }
        }
        try output.flush()
        let failed = report.findings.count { $0.severity == .error }
        if failed > 0 {
            throw Failure(.finding, "\(failed) of the checks failed; keep a copy of the file before you repair it.")
        }
    }
}
