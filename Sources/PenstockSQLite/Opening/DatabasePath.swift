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
    /// Links followed before a path counts as a circle.
    private static let linksMax = 40

    /// The absolute path, free of links, of the file that `path` leads to or would make.
    ///
    /// - Throws: `invalidInput` when `path` is empty, `notFound` when its folder does not exist.
    static func resolved(_ path: String, links: Int = 0) throws -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw PenstockError(.invalidInput, "The path of a database cannot be empty or hold a zero byte.")
        }
        if let real = realPath(path) { return real }
        if let target = linkTarget(path) {
            guard links < linksMax else {
                throw PenstockError(.notFound, "\(path) is a link that leads to itself.")
            }
            let folder = target.hasPrefix("/") ? "" : folder(of: path) + "/"
            return try resolved(folder + target, links: links + 1)
        }
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty else {
            throw PenstockError(.notFound, "There is no folder \(path), and it names no file.")
        }
        guard let real = realPath(folder(of: path)) else {
            throw SystemErrors.failure("The folder of \(path) cannot be found", errno)
        }
        return (real == "/" ? "" : real) + "/" + name
    }

    /// The path of the file that `path` leads to, free of links: SQLite's companions and the workers' locks lie there.
    ///
    /// - Throws: `notFound` when there is none, `notADatabase` when it cannot be one, `corrupt` when it was cut to nothing.
    static func existing(_ path: String) throws -> String {
        let path = try resolved(path)
        _ = try FileIdentity(of: path)
        return path
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
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
