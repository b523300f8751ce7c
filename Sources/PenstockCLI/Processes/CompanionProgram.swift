import PenstockFormats

#if canImport(Darwin)
    import MachO
#endif

/// A program that lies beside this one, and that this process becomes: what it is made of would make every other command larger,
/// and its start slower.
struct CompanionProgram {
    /// Its file.
    let name: String
    let title: String
    /// Whether it needs PostgreSQL's library, and is left out where that is not.
    var needsDatabaseLibrary = false

    static let server = CompanionProgram(name: "penstock-server", title: "The server")
    static let remote = CompanionProgram(name: "penstock-remote", title: "The command for a store at a server")
    static let database = CompanionProgram(
        name: "penstock-postgres", title: "The command for a store in a PostgreSQL database",
        needsDatabaseLibrary: true)
    static let databaseServer = CompanionProgram(
        name: "penstock-postgres-server", title: "The server for a store in a PostgreSQL database",
        needsDatabaseLibrary: true)

    private var advice: String {
        "Put it there: `tools/install` builds it\(needsDatabaseLibrary ? " where libpq-dev is installed" : ""), as does "
            + "`swift build -c release --product \(name)`."
    }

    func become(_ arguments: [String]) throws(Failure) -> Never {
        let program = Self.folder(of: Self.ownPath) + name
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        execv(program, words)
        let code = errno
        throw Failure(
            code == ENOENT ? .commandNotFound : .cannotRun,
            "\(title), \(Escape.text(program)), cannot be started: \(SystemFailure(code: code)). \(advice)")
    }

    private static func folder(of path: String) -> String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }

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
