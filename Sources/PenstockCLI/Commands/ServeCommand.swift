import ArgumentParser

/// Stands among the commands for the server, which is a program of its own: what it is made of would make every other command larger,
/// and its start slower. It is never run: the process becomes the server before this would be parsed, and the server reads the options,
/// and has its own help.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve the queues over HTTP; see `penstock serve --help`.")

    /// For completions.
    @OptionGroup var options: ServeOptions
}
