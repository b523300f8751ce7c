import Foundation
import PenstockTestKit

/// A file system of a few MiB in memory, gone with the object. Only root may mount one.
final class SmallDisk: Sendable {
    /// Root may not do so in every container.
    static let canBeMade: Bool = {
        let folder = TemporaryFolder()
        return withExtendedLifetime(folder) { (try? SmallDisk(mebibytes: 1, in: folder)) != nil }
    }()

    let path: String

    /// - Parameter fileCountMax: how many files and folders there may be; `nil`: as many as there is room for.
    init(mebibytes: Int, fileCountMax: Int? = nil, in folder: TemporaryFolder) throws {
        path = folder.file("disk")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let options = "size=\(mebibytes)m" + (fileCountMax.map { ",nr_inodes=\($0)" } ?? "")
        guard mount("tmpfs", path, "tmpfs", 0, options) == 0 else { throw POSIXError(.EPERM) }
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

/// A file, or a folder, that has a second place while the object is there.
final class BoundFile: Sendable {
    /// Root may not do so in every container.
    static let canBeMade: Bool = {
        let folder = TemporaryFolder()
        return withExtendedLifetime(folder) {
            FileManager.default.createFile(atPath: folder.file("file"), contents: nil)
                && (try? BoundFile(folder.file("file"), at: folder.file("place"))) != nil
        }
    }()

    private let place: String

    /// - Parameter place: an empty file is made there when nothing is.
    init(_ path: String, at place: String) throws {
        self.place = place
        if !FileManager.default.fileExists(atPath: place) {
            guard FileManager.default.createFile(atPath: place, contents: nil) else { throw POSIXError(.EACCES) }
        }
        guard mount(path, place, nil, UInt(MS_BIND), nil) == 0 else { throw POSIXError(.EPERM) }
    }

    deinit {
        umount2(place, Int32(MNT_DETACH))
    }
}
