import ArgumentParser
import PenstockFormats

/// Becomes the server, which is a program of its own: what it is made of would make every other command larger, and its start
/// slower.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve the file's queues over HTTP; see `penstock serve --help`.")

    @Argument(parsing: .captureForPassthrough, help: "What the server is told.") var arguments: [String] = []

    init() {}

    init(arguments: [String]) {
        self.arguments = arguments
    }

    func run() async throws {
        let program = Self.program(beside: Self.ownPath)
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        execv(program, words)
        let code = errno
        throw Failure(
            code == ENOENT ? .commandNotFound : .cannotRun,
            "The server, \(Escape.text(program)), cannot be started: \(String(cString: strerror(code))). It comes with penstock, "
                + "and lies in the same folder.")
    }

    /// The server lies where this program does.
    private static func program(beside own: String) -> String {
        let folder = own.lastIndex(of: "/").map { own[...$0] } ?? ""
        return "\(folder)penstock-server"
    }

    /// Where this program lies.
    private static var ownPath: String {
        #if canImport(Darwin)
            var count: UInt32 = 0
            _NSGetExecutablePath(nil, &count)
            var path = [CChar](repeating: 0, count: Int(count))
            _NSGetExecutablePath(&path, &count)
            return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        #else
            var path = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/exe", &path, path.count)
            guard count > 0 else { return CommandLine.arguments.first ?? "" }
            return String(decoding: path.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        #endif
    }
}
