import ArgumentParser

/// Which store a command works on: a file, or one at a server.
package struct FileOptions: ParsableArguments {
    @Option(
        name: .customLong("db"),
        help: .init(
            "The file with the queues; or the server: http://HOST:PORT, https://HOST or unix:PATH, with its token in PENSTOCK_TOKEN; or the PostgreSQL database: postgres://USER@HOST/DATABASE; else what PENSTOCK_DB says, else ./penstock.db.",
            valueName: "path"),
        completion: .file())
    var path: String?

    package init() {}

    package mutating func validate() throws { try Self.check(path) }

    /// Throws when that cannot be what is meant.
    static func check(_ path: String?) throws {
        if path == "" { throw ValidationError("The path after --db cannot be empty.") }
        let used = path ?? defaultPath
        if StoreAddress.isForeign(used) {
            throw ValidationError(
                "\(Passwords.hidden(address: used)) is no address of a server; write http://HOST:PORT, https://HOST, unix:PATH or "
                    + "postgres://HOST/DATABASE, or the path of a file."
            )
        }
    }

    package var file: StoreFile { StoreFile(path: path ?? Self.defaultPath) }

    /// The path that arguments name which are not parsed yet.
    static func path(in arguments: [String]) -> String { value(of: "--db", in: arguments) ?? defaultPath }

    /// What an option has in arguments that are not parsed yet: the last counts, however it is spelled.
    static func value(of option: String, in arguments: [String]) -> String? {
        var own = arguments.prefix { $0 != "--" }
        var value: String?
        while let word = own.popFirst() {
            if word == option { value = own.popFirst() ?? value }
            if word.hasPrefix("\(option)=") { value = String(word.dropFirst(option.count + 1)) }
        }
        return value
    }

    static var defaultPath: String { pathOfEnvironment ?? "penstock.db" }

    private static var pathOfEnvironment: String? {
        guard let value = getenv("PENSTOCK_DB") else { return nil }
        let path = String(cString: value)
        return path.isEmpty ? nil : path
    }
}

/// Which file a command works on that needs the file itself.
package struct OnlyFileOptions: ParsableArguments {
    @Option(
        name: .customLong("db"),
        help: .init("The file with the queues; else what PENSTOCK_DB says, else ./penstock.db.", valueName: "path"),
        completion: .file())
    var path: String?

    package init() {}

    package mutating func validate() throws { try FileOptions.check(path) }

    /// The file, which `command` needs: no server and no database.
    package func file(for command: String) throws -> StoreFile {
        let file = StoreFile(path: path ?? FileOptions.defaultPath)
        try file.requireFile(for: command)
        return file
    }

    /// The file or the database, which `command` needs: no server.
    func fileOrDatabase(for command: String) throws -> StoreFile {
        let file = StoreFile(path: path ?? FileOptions.defaultPath)
        if file.kind != .database { try file.requireFile(for: command) }
        return file
    }
}

/// How a command's answer is written.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Write JSON, one object on a line, instead of text for people.")
    var isJSON = false
}

/// The store that a command works on, and how its answer is written.
struct StoreOptions: ParsableArguments {
    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    var file: StoreFile { fileOptions.file }
    var isJSON: Bool { outputOptions.isJSON }
}
