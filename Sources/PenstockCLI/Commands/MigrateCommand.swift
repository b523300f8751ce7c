import ArgumentParser
import Penstock
import PenstockFormats

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the file to this program's schema, or make a new one.",
        discussion: """
            EXAMPLES
              penstock migrate
              penstock --db /var/lib/shop/queue.db migrate
              penstock --db postgres://mill@db.example/shop migrate

            Every command that writes does this when it opens an older file; this one does nothing else, so that it can \
            be done at a chosen time. Commands that look leave an older file as it is, and say so when they cannot read \
            it. A file with a newer schema is refused and left as it is. A schema of a PostgreSQL database is made and brought up \
            to date in the same way, in one transaction.
            """)

    @OptionGroup var fileOptions: OnlyFileOptions
    @OptionGroup var outputOptions: OutputOptions

    @MainActor func run() async throws {
        let file = try fileOptions.fileOrDatabase(for: "migrate")
        let isNew = file.kind == .database ? try await file.lacksTables() : !file.exists
        let steps =
            file.kind == .database ? try await file.migrate() : try await file.use(mayCreate: true) { $0.appliedSteps }
        let done = isNew ? "was made" : "is up to date"
        let count = steps.isEmpty ? "" : ", by \(CountText.format(steps.count, "step"))"
        try Output().answer(
            "\(Escape.text(file.shown)) \(done)\(count).",
            .object([
                "path": .string(file.shown), "created": .bool(isNew), "steps": .array(steps.map { .string($0) }),
            ]), isJSON: outputOptions.isJSON, isChange: isNew || !steps.isEmpty)
    }
}
