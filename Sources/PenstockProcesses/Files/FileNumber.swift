package import Foundation

/// Which file it is, whatever its name, by the numbers that the kernel gives to its device and to the file there. Another file has them only
/// when this one is gone and no process has it open.
package struct FileNumber: Equatable, Sendable {
    private let device: UInt64
    /// The number on its device.
    package let inode: UInt64

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// That of the file that is open at `descriptor`.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}
