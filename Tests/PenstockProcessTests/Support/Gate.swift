import Foundation

/// A named pipe at which commands wait: `read -r _ < PATH` goes on once the test lets it.
final class Gate: Sendable {
    let path: String
    private let descriptor: FileDescriptor

    /// Makes the pipe in the site's folder.
    init(_ site: Site, _ name: String = "gate") throws {
        path = "\(site.folder)/\(name)"
        guard mkfifo(path, 0o600) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
        }
        // Open for both, so that neither side waits for the other to open it.
        descriptor = try .open(FilePath(path), .readWrite)
    }

    /// Lets `count` commands through, now or when they come.
    func open(for count: Int = 1) throws {
        try descriptor.writeAll([UInt8](repeating: UInt8(ascii: "\n"), count: count))
    }

    deinit {
        try? descriptor.close()
    }
}
