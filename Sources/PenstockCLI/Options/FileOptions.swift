import ArgumentParser

/// Which file a command works on.
package struct FileOptions: ParsableArguments {
    @Option(
        name: .customLong("db"),
        help: .init(
            "The file with the queues; else what PENSTOCK_DB says, else ./penstock.db.", valueName: "path"),
        completion: .file())
    var path: String?

    package init() {}

    package mutating func validate() throws {
        if path == "" { throw ValidationError("The path after --db cannot be empty.") }
    }

    /// The file.
    package var file: StoreFile {
        StoreFile(path: path ?? Self.pathOfEnvironment ?? "penstock.db")
    }

    private static var pathOfEnvironment: String? {
        guard let value = getenv("PENSTOCK_DB") else { return nil }
        let path = String(cString: value)
        return path.isEmpty ? nil : path
    }
}

/// How a command's answer is written.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Write JSON, one object on a line, instead of text for people.")
    var isJSON = false
}
