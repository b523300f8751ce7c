import ArgumentParser
import Penstock
import PenstockFormats

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Make a backup of the file, also while it is worked.",
        discussion: """
            EXAMPLES
              penstock backup backup.db
              penstock backup /var/backups/queue.db --replace --db queue.db
              penstock restore backup.db --db new.db

            The backup has what was committed at one moment. Nobody waits for it, but the write-ahead log grows meanwhile by \
            what is written. It is one file, found sound and on the disk; it is there all at once, and can be read by its \
            owner alone.

            Without --replace there must be no file of its name yet. With it an older backup is replaced in one step, and is \
            as it was when anything fails. A file that is none of Penstock's is never replaced, and neither is one that \
            workers have used.

            Killed in the middle, it leaves a file whose name begins with that of the backup and -backup-. The next backup to the \
            same name removes it.
            """)

    @OptionGroup var fileOptions: OnlyFileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The backup's file.", completion: .file())
    var backup: String

    @Flag(help: "Replace an older backup.")
    var replace = false

    @MainActor func run() async throws {
        let file = try fileOptions.file(for: "backup")
        try file.refuseMissing()
        let report: BackupReport
        do {
            report = try await PenstockStore.backup(of: file.path, to: backup, replacing: replace)
        } catch let error as PenstockError where error.code == .notFound {
            throw Failure(.cannotCreate, error.message)
        }
        try Output().answer(
            "\(Escape.text(backup)) was made of \(Escape.text(file.path)), with messages up to \(report.lastSequence).",
            .object([
                "path": .string(backup), "source": .string(file.path),
                "lastSequence": .integer(Int(report.lastSequence.rawValue)), "bytes": .integer(report.byteCount),
            ]), isJSON: outputOptions.isJSON)
    }
}
