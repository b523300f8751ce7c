import CPenstockSystem

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
