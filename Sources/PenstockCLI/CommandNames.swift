import ArgumentParser

/// The names of the commands and of their options. The parser takes a command that it does not know for an argument too many.
enum CommandNames {
    /// Throws when `arguments` begin with the name of a command that there is not.
    static func check(_ arguments: [String]) throws(Failure) {
        let found = command(of: arguments, below: PenstockCommand.self)
        guard let unknown = found.unknown else { return }
        let advice =
            nearest(to: unknown, among: found.command.configuration.subcommands.map(name)).map {
                "perhaps '\(found.path) \($0)' is meant."
            } ?? "`\(found.path) --help` names those that there are."
        throw Failure(
            .usage, "There is no command '\(found.path) \(Passwords.hidden(address: unknown))'; \(advice)")
    }

    /// The command whose names `arguments` begin with.
    ///
    /// - Returns: with it all of its names, and the argument that stands where a further one would and is none.
    private static func command(
        of arguments: [String], below root: any ParsableCommand.Type
    ) -> (command: any ParsableCommand.Type, path: String, unknown: String?) {
        var (path, command) = ("penstock", root)
        for argument in arguments {
            let subcommands = command.configuration.subcommands
            if subcommands.isEmpty || argument.hasPrefix("-") { break }
            // The names of a command follow, whose help is shown.
            if argument == "help" { continue }
            guard let next = subcommands.first(where: { name(of: $0) == argument }) else {
                return (command, path, argument)
            }
            path += " \(argument)"
            command = next
        }
        return (command, path, nil)
    }

    /// The option of `arguments` that their command does not have; `nil`: it has them all.
    ///
    /// The parser looks for it last. What it misses before may be just what was misspelt.
    ///
    /// - Returns: with it the option that is meant, if one is that near.
    static func unknownOption(
        in arguments: [String], of root: any ParsableCommand.Type
    ) -> (name: String, nearest: String?)? {
        let own = Array(arguments.prefix { $0 != "--" })
        let help = root.helpMessage(for: command(of: own, below: root).command, includeHidden: true)
        let words = help.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init)
        let known = Set(words.filter { $0.hasPrefix("--") })
        let given = own.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        return given.first { !known.contains($0) }.map { ($0, nearest(to: $0, among: known.sorted())) }
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command._commandName
    }

    /// The name from which `word` is at most as far as two slips of the hand, and less than half of itself.
    private static func nearest(to word: String, among names: [String]) -> String? {
        names.map { (name: $0, slips: slips(word, $0)) }
            .filter { $0.slips <= 2 && $0.slips * 2 < $0.name.count }
            .min { $0.slips < $1.slips }?.name
    }

    /// How many characters are to be put in, taken out or replaced to make one word of the other.
    private static func slips(_ word: String, _ other: String) -> Int {
        let others = Array(other)
        var row = Array(0...others.count)
        for (index, character) in word.enumerated() {
            var last = row[0]
            row[0] = index + 1
            for (column, candidate) in others.enumerated() {
                let replaced = last + (character == candidate ? 0 : 1)
                last = row[column + 1]
                row[column + 1] = min(replaced, last + 1, row[column] + 1)
            }
        }
        return row[others.count]
    }
}
