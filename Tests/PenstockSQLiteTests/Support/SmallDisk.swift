import Foundation
import PenstockTestKit

/// A file system of a few MiB in memory, gone with the object. Only root may mount one.
final class SmallDisk: Sendable {
    static let canBeMade = getuid() == 0

    let path: String

    init(mebibytes: Int, in folder: TemporaryFolder) throws {
        path = folder.file("disk")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else { throw POSIXError(.EPERM) }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }
}

/// A folder that is mounted on itself, and cannot be written while the object is there.
final class ReadOnlyMount: Sendable {
    private let path: String

    init(_ path: String) throws {
        self.path = path
        guard mount(path, path, nil, UInt(MS_BIND), nil) == 0 else { throw POSIXError(.EPERM) }
        guard mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0 else {
            umount2(path, Int32(MNT_DETACH))
            throw POSIXError(.EPERM)
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }
}
