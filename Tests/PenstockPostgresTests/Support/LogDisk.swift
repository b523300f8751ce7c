import Foundation

/// A small file system in memory for a server's write-ahead log, which can be filled. Only root may mount one.
final class LogDisk: Sendable {
    static let canBeMade: Bool = getuid() == 0 && (try? LogDisk(mebibytes: 1)) != nil

    let path: String
    private let cleaning: ClosingScript

    init(mebibytes: Int) throws {
        path = "/tmp/penstock-wal-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        cleaning = try ClosingScript(
            ["/bin/sh", "-c", "read end || true; umount --lazy \"$0\"; rmdir \"$0\"", path])
        try SystemCommand.run(["mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m", "tmpfs", path])
        try ServerUser.own(path)
    }

    /// Where the log lies: a server wants the folder for itself.
    var folder: String { path + "/log" }

    /// Leaves no room.
    func fill() throws {
        let filler = open(path + "/filler", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard filler >= 0 else { throw PostgresServer.Failure(description: "\(path) cannot be filled.") }
        defer { close(filler) }
        let bytes = [UInt8](repeating: 0, count: 4096)
        while write(filler, bytes, bytes.count) > 0 {}
    }

    func empty() { unlink(path + "/filler") }
}
