import Foundation
package import PenstockCore

/// The socket in the file system where a program listens, and which may be another program's by the time it stops.
package struct SocketFile: Sendable {
    private let path: String
    private let number: FileNumber

    /// Where a program that makes its socket by itself makes it, before it takes its place.
    package static func draft(of path: String) -> String { path + "~" }

    /// Has the socket that is at the draft's path take its place, its owner's alone. It is there at once, with its mode, and takes the
    /// place of no other: at one that has come since ``makeRoom(at:)`` another server listens.
    ///
    /// - Throws: `PenstockError` when the system does not do that, with code `storage` when the place is taken.
    package init(publishing path: String) throws(PenstockError) {
        let draft = Self.draft(of: path)
        defer { unlink(draft) }
        guard chmod(draft, 0o600) == 0, let number = Self.number(at: draft), link(draft, path) == 0 else {
            throw errno == EEXIST ? Self.taken(path) : SystemErrors.failure("Nothing can listen at \(path)", errno)
        }
        (self.path, self.number) = (path, number)
    }

    /// Which file a path leads to; `nil`: it is no socket.
    private static func number(at path: String) -> FileNumber? {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return FileNumber(facts)
    }

    /// Removes the socket, unless another one has taken its place.
    package func remove() {
        if Self.number(at: path) == number { unlink(path) }
    }

    /// Whether nothing is at a path where a socket was.
    package static func isGone(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) != 0 && errno == ENOENT
    }

    /// Removes a socket that nobody listens at any more.
    ///
    /// - Throws: `PenstockError` with code `storage` when somebody does, `fileExists` when it is no socket, or one of the system's.
    package static func makeRoom(at path: String) throws(PenstockError) {
        var facts = stat()
        guard lstat(path, &facts) == 0 else {
            guard errno == ENOENT, access(SharedFolder.parent(of: path), F_OK) == 0 else {
                throw SystemErrors.failure("Nothing can listen at \(path)", errno)
            }
            return
        }
        guard facts.st_mode & S_IFMT == S_IFSOCK else {
            throw PenstockError(
                .fileExists, "Nothing can listen at \(path): it is no socket; give a path where there is no file.")
        }
        guard try isDead(path) else {
            throw Self.taken(path)
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw SystemErrors.failure("The socket \(path), where nobody listens, cannot be removed", errno)
        }
    }

    static func taken(_ path: String) -> PenstockError {
        PenstockError(.storage, "Another program listens at \(path); stop it, or give another path.")
    }

    /// Whether nobody listens there. Whoever is too busy to answer, or is another user's, is there.
    private static func isDead(_ path: String) throws(PenstockError) -> Bool {
        let socket = try StreamSocket.made(for: .path(path))
        defer { socket.close() }
        socket.prepare(timeout: .seconds(1))
        let result = try StreamSocket.Place.path(path).with { address, length in
            socket.connect(to: address, length) ? 0 : errno
        }
        return result == ECONNREFUSED || result == ENOENT
    }
}
