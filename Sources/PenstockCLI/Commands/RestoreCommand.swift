import ArgumentParser
import Penstock
import PenstockFormats

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a file with queues out of a backup of one.",
        discussion: """
            EXAMPLES
              penstock restore backup.db --db queue.db
              penstock backup backup.db --db old.db && penstock restore backup.db --db new.db

            The backup is a copy of a file with queues, made by `penstock backup`, by the .backup or VACUUM INTO of sqlite3, or by \
            hand while no program had the file open. It is only read. There must be no file at --db yet; the new one is there all at \
            once, and can be read by its owner alone.

            The new file has what the backup has, with three differences. The next sequence numbers are 1000000000 ahead, \
            so that none is given twice though more were given since the backup. Messages that workers had are ready \
            again, and the attempt is not counted. An older schema is brought up to date. What was done since the \
            backup is done again.

            Killed in the middle, it leaves a file whose name begins with that of the new one and -restore-. The next restore to the \
            same name removes it.
            """)

    @OptionGroup var fileOptions: OnlyFileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The backup's file.", completion: .file())
    var backup: String

    @MainActor func run() async throws {
        let (source, file) = (StoreFile(path: backup), try fileOptions.file(for: "restore"))
        guard !backup.isEmpty else { throw Failure(.usage, "The path of a backup cannot be empty; name a file.") }
        try source.refuseMissing(saying: "There is no backup at \(backup).")
        let report: RestoreReport
        do {
            report = try await PenstockStore.restore(from: backup, to: file.path)
        } catch let error as PenstockError where error.code == .notFound {
            throw Failure(.cannotCreate, error.message)
        }
        try Output().answer(
            "\(Escape.text(file.path)) was made from \(Escape.text(backup)); the next message is "
                + "\(report.nextSequence), and \(report.released) that workers had are ready again.",
            .object([
                "path": .string(file.path), "backup": .string(backup),
                "nextSequence": .integer(Int(report.nextSequence.rawValue)),
                "released": .integer(report.released),
            ]), isJSON: outputOptions.isJSON)
    }
}
