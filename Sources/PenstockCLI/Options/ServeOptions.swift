package import ArgumentParser
package import PenstockFormats

/// What `penstock serve` is told. The server reads it, which is a program of its own; the command has it for completions.
package struct ServeOptions: ParsableArguments {
    @OptionGroup package var location: ServedStoreOptions

    @Option(
        help: ArgumentHelp(
            "Where to listen: HOST:PORT, or unix:PATH for a socket that only its owner may use. Several can be given; 127.0.0.1:7700 "
                + "without it.",
            valueName: "address"),
        transform: { try ListenAddress($0) })
    package var listen: [ListenAddress] = []

    @Option(
        help: ArgumentHelp(
            "Tokens, one a line: a name, the token, scopes (read, produce, consume, operate) with commas between them and, if "
                + "it is not for all, queues.", valueName: "path"),
        completion: .file())
    package var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A name by which this server is called, beside those that it listens at. Several can be given.",
            valueName: "name"))
    package var host: [String] = []

    @Option(help: "What people call this server, such as staging: it stands on every page of the dashboard.")
    package var name: String?

    @Flag(help: "Change nothing: only what looks is answered.")
    package var readOnly = false

    @OptionGroup package var logOptions: LogOptions

    package init() {}
}
