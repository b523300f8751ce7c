import ArgumentParser

/// A command that does something. It runs on the main actor, to which standard output and input belong: when they
/// block, they hold up the main thread and no thread of the pool.
protocol Subcommand: AsyncParsableCommand, Sendable {
    @MainActor func execute() async throws
}

extension Subcommand {
    mutating func run() async throws {
        let command = self
        try await command.execute()
    }
}
