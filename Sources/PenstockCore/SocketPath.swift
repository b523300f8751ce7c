/// The path of a socket in the file system.
package enum SocketPath {
    /// It has fewer bytes than this: so much room every system has for it.
    package static let bytesEnd = 104

    /// - Throws: `PenstockError` with code `invalidInput` when it has more.
    package static func validate(_ path: String) throws(PenstockError) {
        try require(
            path.utf8.count < bytesEnd, "The path of a socket has fewer than \(bytesEnd) bytes; '\(path)' has more.")
    }
}
