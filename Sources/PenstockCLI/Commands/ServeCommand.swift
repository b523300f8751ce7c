import ArgumentParser

/// Becomes the server, which is a program of its own: what it is made of would make every other command larger, and its start
/// slower.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve the queues over HTTP; see `penstock serve --help`.")

    @Argument(parsing: .captureForPassthrough, help: "What the server is told.") var arguments: [String] = []

    init() {}

    init(arguments: [String]) {
        self.arguments = arguments
    }

    func run() async throws { try CompanionProgram.server.become(arguments) }
}
