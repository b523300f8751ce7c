import Foundation

/// A file system of a few MiB in memory, with a site's file on it. Only root may mount one.
final class SmallDisk: Sendable {
    static let canBeMade = getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/mount")

    let path: String
    private let mebibytes: Int
    var file: String { "\(path)/test.db" }

    private init(_ mebibytes: Int, _ site: Site) throws {
        self.mebibytes = mebibytes
        path = "\(site.folder)/disk"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Self.run("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=\(mebibytes)m", "tmpfs", path])
    }

    /// Calls `body` with a new disk at the site, and takes it away afterwards.
    static func use(
        mebibytes: Int, at site: Site, _ body: (SmallDisk) async throws -> Void
    ) async throws {
        let disk = try SmallDisk(mebibytes, site)
        defer { try? run("/usr/bin/umount", ["--lazy", disk.path]) }
        try await body(disk)
    }

    /// Allows or forbids every write.
    func allowWrites(_ isAllowed: Bool) throws {
        let mode = isAllowed ? "rw" : "ro"
        try Self.run("/usr/bin/mount", ["-o", "remount,\(mode),size=\(mebibytes)m", path])
    }

    /// Fills the disk, but for so many bytes.
    func fill(leaving bytes: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: path)
        let free = (attributes[.systemFreeSize] as? Int) ?? 0
        try Data(count: max(0, free - bytes)).write(to: URL(filePath: "\(path)/filler"))
    }

    /// Makes room again.
    func empty() throws {
        try FileManager.default.removeItem(atPath: "\(path)/filler")
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = try Process.run(URL(filePath: program), arguments: arguments)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
