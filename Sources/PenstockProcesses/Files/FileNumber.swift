package import Foundation
import CPenstockSystem

/// Which file it is, whatever its name, by the numbers that the kernel gives to its device and to the file there. Another file has them only
/// when this one is gone and no process has it open.
package struct FileNumber: Hashable, Sendable {
    private let device: UInt64
    /// The number on its device.
    package let inode: UInt64

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// That of the file at `path`; `nil` when there is none, or it cannot be looked at, and `errno` says why. The next flush of the file waits
    /// no longer for that, as it does after `stat`.
    package init?(at path: String) {
        var (device, inode): (UInt64, UInt64) = (0, 0)
        guard penstock_file_number(path, &device, &inode) == 0 else { return nil }
        (self.device, self.inode) = (device, inode)
    }

    /// Whether the file at `path` may be this one still: it is, or it cannot be looked at for the moment.
    package func isStill(at path: String) -> Bool {
        guard let found = FileNumber(at: path) else { return !SystemErrors.isNothingThere }
        return found == self
    }

    /// That of the file that is open at `descriptor`.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// Which file it is, for longer than it is open: a number alone is given again when its file is gone.
package struct FileBirth: Equatable, Sendable {
    package let number: UInt64
    /// When the file was made, in nanoseconds since 1970.
    package let nanoseconds: Int64

    package init(number: UInt64, nanoseconds: Int64) {
        self.number = number
        self.nanoseconds = nanoseconds
    }

    /// The file at `path`; `nil` when there is none, or when its file system does not know when it was made.
    package init?(of path: String) {
        var (number, nanoseconds): (UInt64, Int64) = (0, 0)
        guard penstock_file_birth(path, &number, &nanoseconds) == 0 else { return nil }
        self.init(number: number, nanoseconds: nanoseconds)
    }
}

/// How a file has come to its place.
package enum FileMount {
    /// Whether the file at `path` was mounted there by itself, as a container's runtime does for a single file: what lies beside it at its
    /// other name does not lie here. False where the system does not say.
    package static func isMounted(_ path: String) -> Bool { penstock_is_mounted(path) != 0 }
}
