import Subprocess

extension Command {
    /// The command that `words` name: a path, or a program of `PATH`; then its arguments.
    ///
    /// It is looked for once, before any message is claimed for it.
    ///
    /// - Throws: ``Failure`` with status `commandNotFound` or `cannotRun`.
    static func find(_ words: [String]) async throws -> Command {
        guard let name = words.first, !name.isEmpty else {
            throw Failure(.usage, "A command is missing; write it after two dashes: penstock work QUEUE -- COMMAND.")
        }
        let path = name.contains("/") ? FilePath(name) : try await search(for: name)
        try check(path, name)
        return Command(path: path, name: name, arguments: Array(words.dropFirst()))
    }

    private static func search(for name: String) async throws -> FilePath {
        do {
            return try await Executable.name(name).resolveExecutablePath(in: .inherit)
        } catch {
            throw Failure(
                .commandNotFound, "The command '\(name)' was not found in PATH; write its path, or install it.")
        }
    }

    private static func check(_ path: FilePath, _ name: String) throws {
        var facts = stat()
        guard stat(path.string, &facts) == 0 else {
            throw Failure(.commandNotFound, "There is no command at '\(name)' (\(SystemFailure(code: errno))).")
        }
        guard facts.st_mode & S_IFMT == S_IFREG, access(path.string, X_OK) == 0 else {
            throw Failure(
                .cannotRun, "'\(name)' is not a program that can be run; give it execute permission, or write another.")
        }
    }
}
