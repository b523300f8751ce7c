import Foundation
import PenstockCore
import PenstockProcesses

/// Where a database really lies.
///
/// SQLite follows symbolic links and puts its companions beside the file that they lead to. The store's side folder
/// must lie there as well, or two processes that came by different names would not see each other's locks, and each
/// would take the other for dead. So every path is made absolute and free of links first. That also makes names such
/// as `:memory:` and `file:x`, which SQLite would read in its own way, plain names of files.
enum DatabasePath {
    /// Bytes of a path that SQLite takes, with the longest name that it puts beside a file (`MAX_PATHNAME` of its VFS for Unix).
    static let bytesMax = 504
    /// Bytes of a file's name (`NAME_MAX`).
    static let fileNameBytesMax = 255
    /// Bytes of a database's name, with the longest one beside it, that of the store's folder.
    private static let nameBytesMax = fileNameBytesMax - "-penstock".utf8.count
    /// Links followed before a path counts as a circle.
    private static let linksMax = 40

    /// The absolute path, free of links, of the file that `path` leads to or would make.
    ///
    /// - Throws: `invalidInput` when `path` is empty or too long, `notFound` when its folder does not exist.
    static func resolved(_ path: String, links: Int = 0) throws -> String {
        try require(
            !path.isEmpty && !path.utf8.contains(0), "The path of a database cannot be empty or hold a zero byte.")
        if let real = realPath(path) { return try short(real) }
        if let target = linkTarget(path) {
            guard links < linksMax else {
                throw PenstockError(.notFound, "\(path) is a link that leads to itself.")
            }
            let folder = target.hasPrefix("/") ? "" : SharedFolder.parent(of: path) + "/"
            return try resolved(folder + target, links: links + 1)
        }
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty else {
            throw PenstockError(.notFound, "There is no folder \(path), and it names no file.")
        }
        guard let real = realPath(SharedFolder.parent(of: path)) else {
            throw SystemErrors.failure("The folder of \(path) cannot be found", errno)
        }
        return try short((real == "/" ? "" : real) + "/" + name)
    }

    private static func short(_ path: String) throws -> String {
        try require(
            path.utf8.count <= bytesMax,
            "\(path) has \(path.utf8.count) bytes, and SQLite takes paths of \(bytesMax) at most; move the file to a folder nearer "
                + "to the root.")
        let nameBytes = nameByteCount(path)
        try require(
            nameBytes <= nameBytesMax,
            "The name of \(path) has \(nameBytes) bytes, and with what lies beside it there is room for \(nameBytesMax); take a "
                + "shorter one.")
        return path
    }

    /// How many bytes the name has that `path` ends with.
    static func nameByteCount(_ path: String) -> Int { path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count }

    /// Throws `fileExists` for the name of what SQLite, or Penstock, has beside a database that is there: they would take the file for
    /// their own, and remove it.
    static func refuseCompanion(_ path: String) throws {
        for end in DatabaseCompanions.ends + ["-penstock"] where path.hasSuffix(end) {
            let database = String(path.dropLast(end.count))
            var status = stat()
            if lstat(database, &status) == 0 {
                throw PenstockError(
                    .fileExists, "\(path) is a name of what belongs to the database \(database); name another file.")
            }
        }
    }

    /// The path of the file that `path` leads to, free of links: SQLite's companions and the workers' locks lie there.
    ///
    /// - Throws: `notFound` when there is none, `notADatabase` when it cannot be one, `corrupt` when it was cut to nothing, `fileReplaced`
    ///   when another file's write-ahead log lies beside it.
    static func existing(_ path: String) throws -> String {
        let path = try resolved(path)
        _ = try FileIdentity(of: path)
        try FileIdentity.refuseOtherLog(path)
        return path
    }

    /// The value of `body`, which works on the file that `path` leads to. It is given the path free of links, and may block.
    ///
    /// - Throws: what `body` throws, as it means to people; what ``existing(_:)`` throws if the file must exist, and
    ///   otherwise what ``resolved(_:links:)`` throws.
    static func use<T: Sendable>(
        _ path: String, mustExist: Bool = false, _ body: @escaping @Sendable (String) throws -> T
    ) async throws -> T {
        try await SystemThread.run {
            let path = try mustExist ? existing(path) : resolved(path)
            do {
                return try body(path)
            } catch {
                throw StorageErrors.translated(error, path: path)
            }
        }
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func linkTarget(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
}
