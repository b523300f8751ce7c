import ArgumentParser
import Penstock
import PenstockFormats

/// The schedule that a command is about, and how it says what it did.
struct OneScheduleOptions: ParsableArguments {
    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The schedule.", transform: { try ScheduleName($0) })
    var name: ScheduleName

    /// Calls `body` with the schedule's name, and says what that did.
    @MainActor
    func change(_ verb: String, _ body: @MainActor (PenstockStore, String) async throws -> Void) async throws {
        try await fileOptions.file.use { store in
            try await body(store, name.text)
            try Output().answer(
                "Schedule \(Escape.text(name.text)) \(verb).",
                .object(["schedule": .string(name.text), verb: .bool(true)]), isJSON: outputOptions.isJSON)
        }
    }
}
