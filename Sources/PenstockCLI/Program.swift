package import ArgumentParser
import Dispatch
import PenstockFormats
import PenstockProcesses

/// The program `penstock`.
public enum Program {
    /// Runs the command that the process's arguments name, and ends the process with its exit status. To be called
    /// from a `main` that is not `async`: what runs such a one opens files before it.
    public static func main() -> Never {
        SystemThread.shareMemory()
        main(PenstockCommand.self, parsing: parsed)
    }

    /// Runs another program, of one command, that is called as this one is: it reads the same environment, and ends with the same
    /// statuses.
    package static func main(_ root: (some AsyncParsableCommand).Type) -> Never {
        main(root) { try await root.asyncParseAsRoot($0) }
    }

    private static func main(
        _ root: any ParsableCommand.Type,
        parsing parse: @escaping @Sendable ([String]) async throws -> any ParsableCommand
    ) -> Never {
        StandardDescriptors.occupy()
        do {
            try OpenFiles.makeRoomToBegin()
            try ProcessFiles.requireToBegin()
            try Threads.makeRoomToBegin()
        } catch {
            // Nothing runs yet, and what writes lines otherwise could not begin.
            try? Descriptor.standardError.write(Array("\(error.line)\n".utf8))
            exit(error.status.rawValue)
        }
        Task { @MainActor in
            let status = await run(root, parsing: parse)
            ErrorOutput.flush()
            exit(status)
        }
        dispatchMain()
    }

    /// Runs the command, and returns the exit status. Each works on the main actor, to which standard output and input belong: when
    /// they block, they hold up the main thread and no thread of the pool.
    @MainActor
    private static func run(
        _ root: any ParsableCommand.Type, parsing parse: ([String]) async throws -> any ParsableCommand
    ) async -> Int32 {
        do {
            try refuseArgumentsThatAreNotText()
            var command = try await parse(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ShellStatus.done.rawValue
        } catch {
            return report(error, of: root)
        }
    }

    /// The process's arguments, in the order that the parser wants.
    private static var arguments: [String] { LeadingOptions.moved(ProcessArguments.own) }

    /// The status of wrong arguments. Whoever runs a check knows four statuses, and takes none of the others for an answer.
    private static var statusOfWrongArguments: ShellStatus {
        arguments.first == CheckCommand.configuration.commandName ? .unknown : .usage
    }

    /// The command that `arguments` name, with its options.
    ///
    /// Scripts call `enqueue` once for each message, so that a proper call of it is parsed without a look at all other
    /// commands, which takes milliseconds. Anything else, help and mistakes included, goes to the parser of all commands.
    @Sendable private static func parsed(_ arguments: [String]) async throws -> any ParsableCommand {
        try becomeAnother(for: arguments)
        if arguments.first == EnqueueCommand.configuration.commandName,
            let command = try? await EnqueueCommand.asyncParseAsRoot(Array(arguments.dropFirst()))
        {
            return command
        }
        try CommandNames.check(arguments)
        return try await PenstockCommand.asyncParseAsRoot(arguments)
    }

    /// Becomes the server, if it is what `arguments` name. What is behind its name is its own, its help as well. Where they name a store
    /// at a server, or in a database, the process becomes the program for those.
    ///
    /// Swift 6.3's optimizer does not survive this within an async function.
    @inline(never) private static func becomeAnother(for arguments: [String]) throws {
        let name = ServeCommand.configuration.commandName
        if arguments.first == name { try CompanionProgram.server.become(Array(arguments.dropFirst())) }
        if arguments.count == 2, arguments[0] == "help", arguments[1] == name {
            try CompanionProgram.server.become(["--help"])
        }
        let kind = kind(of: arguments)
        if ServerStores.canOpen(kind) { return }
        let program = kind == .server ? CompanionProgram.remote : CompanionProgram.database
        // Its arguments are this one's, letter for letter: what PENSTOCK_DB says stays where others do not see it.
        try program.become(ProcessArguments.own)
    }

    /// What the store of a command is. A copy has two, and one that is in a database is what counts.
    private static func kind(of arguments: [String]) -> StoreAddress.Kind {
        guard arguments.first == CopyCommand.configuration.commandName else {
            return StoreAddress.kind(of: FileOptions.path(in: arguments))
        }
        let stores = ["--from", "--to"].compactMap { FileOptions.value(of: $0, in: arguments) }
        return stores.contains { StoreAddress.kind(of: $0) == .database } ? .database : .file
    }

    /// Says what went wrong, and returns the exit status.
    @MainActor
    private static func report(_ error: any Error, of root: any ParsableCommand.Type) -> Int32 {
        if let failure = Failure(known: error) {
            if !failure.message.isEmpty { failure.say() }
            return failure.status.rawValue
        }
        HelpWidth.widen()
        let status = root.exitCode(for: error)
        if status.isSuccess {
            // Help, the version and completions come as errors, too.
            let output = Output()
            do {
                try output.line(root.fullMessage(for: error))
                try output.flush()
                return ShellStatus.done.rawValue
            } catch {
                return report(error, of: root)
            }
        }
        guard status == .validationFailure else {
            return report(Failure(.software, "Something unexpected happened: \(error)"), of: root)
        }
        // What the parser says, and its usage after it; the error begins like all others.
        var message = safe(explanation(of: error, by: root))[...]
        if message.hasPrefix("Error: ") { message = "penstock: " + message.dropFirst("Error: ".count) }
        for line in message.split(separator: "\n") { ErrorOutput.line(String(line)) }
        return statusOfWrongArguments.rawValue
    }

    /// What the parser says: of an option that is unknown before anything else.
    private static func explanation(of error: any Error, by root: any ParsableCommand.Type) -> String {
        let message = root.fullMessage(for: error)
        let usage = message.split(separator: "\n").drop { !$0.hasPrefix("Usage:") }
        if let number = negativeNumber(in: message) {
            let sentence =
                "Error: '\(number)' is taken for an option; a number that stands by itself is not negative, and a text that begins "
                + "with a dash stands behind two dashes (--)."
            return ([Substring(sentence)] + usage).joined(separator: "\n")
        }
        guard !message.hasPrefix("Error: Unknown option"),
            let option = CommandNames.unknownOption(in: arguments, of: root)
        else { return adviceOnDash(in: message) ?? message }
        let advice = option.nearest.map { " Did you mean '\($0)'?" } ?? ""
        return (["Error: Unknown option '\(option.name)'.\(advice)"] + usage).joined(separator: "\n")
    }

    /// The argument that the parser takes for an option and that begins as a negative number does. Where nothing else stands in its place
    /// the parser says only that something is missing.
    private static func negativeNumber(in message: String) -> String? {
        let beginning = "Error: Unknown option '"
        guard message.hasPrefix(beginning) else {
            let own = arguments.prefix { $0 != "--" }
            // Behind an option it is that one's value.
            return zip(own, own.dropFirst()).first { before, number in
                !before.hasPrefix("-") && number.hasPrefix("-") && Int(number) != nil
            }?.1
        }
        // Of several digits the parser may name the first one.
        let name = message.dropFirst(beginning.count).prefix { $0 != "'" }
        guard name.first == "-", let digit = name.dropFirst().first, ("0"..."9").contains(digit) else { return nil }
        return arguments.first { $0.hasPrefix(name) } ?? String(name)
    }

    /// What the parser says of an option without a value, with what to write where one was given that begins with a dash: it takes
    /// that for another option.
    private static func adviceOnDash(in message: String) -> String? {
        let beginning = "Error: Missing value for '"
        guard message.hasPrefix(beginning) else { return nil }
        let option = message.dropFirst(beginning.count).prefix { $0 != " " && $0 != "'" }
        let own = arguments.prefix { $0 != "--" }
        let value = zip(own, own.dropFirst()).first { name, value in
            name == option && value.hasPrefix("-") && !value.hasPrefix("--")
        }?.1
        guard let value else { return nil }
        var lines = message.split(separator: "\n")
        lines[0] += "; what begins with a dash is written \(option)=\(Escape.text(value))"
        return lines.joined(separator: "\n")
    }

    /// What the parser says. An argument that it quotes, or a side of its equals sign, breaks no line of it.
    private static func safe(_ message: String) -> String {
        let arguments = ProcessArguments.own
        let quoted = Set(arguments + arguments.flatMap { $0.split(separator: "=", maxSplits: 1).map(String.init) })
        return quoted.reduce(message) {
            $0.replacing("'\($1)'", with: "'\(Escape.text(Passwords.hidden(address: $1)))'")
        }
        .split(separator: "\n", omittingEmptySubsequences: false).map { Escape.line(String($0)) }
        .joined(separator: "\n")
    }

    /// Swift repairs arguments that are not UTF-8, and a payload that was repaired is not what was given.
    private static func refuseArgumentsThatAreNotText() throws {
        if let place = ProcessArguments.placeOfNoText {
            throw Failure(
                .usage, "Argument \(place) is not UTF-8; payloads of any bytes go through standard input or --file.")
        }
        // With other characters in place of what cannot be read it would be another file.
        if let path = getenv("PENSTOCK_DB"), String(validatingCString: path) == nil {
            throw Failure(
                .usage, "PENSTOCK_DB is not UTF-8; name the store by other characters, by way of a link if need be.")
        }
    }
}
