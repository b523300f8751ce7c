/// A file descriptor that somebody else opened and closes.
package struct Descriptor: Hashable, Sendable {
    package static let standardInput = Descriptor(STDIN_FILENO)
    package static let standardOutput = Descriptor(STDOUT_FILENO)
    package static let standardError = Descriptor(STDERR_FILENO)

    let number: Int32

    init(_ number: Int32) { self.number = number }

    var isTerminal: Bool { isatty(number) == 1 }

    /// How many bytes lie ahead in it, when it is a regular file.
    var bytesAhead: Int? {
        var facts = stat()
        guard fstat(number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        let position = lseek(number, 0, SEEK_CUR)
        return position < 0 ? nil : max(0, Int(facts.st_size) - Int(position))
    }

    /// Writes all of `bytes`. Blocks.
    package func write(_ bytes: some Collection<UInt8>) throws(SystemFailure) {
        var error: Int32 = 0
        let done: Void? = bytes.withContiguousStorageIfAvailable { error = write($0) }
        if done == nil { error = Array(bytes).withUnsafeBufferPointer { write($0) } }
        if error != 0 { throw SystemFailure(code: error) }
    }

    private func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = systemWrite(number, rest)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                // Somebody made it non-blocking; then its readiness is waited for here.
                wait(for: Int16(POLLOUT), milliseconds: -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Reads what is there, up to the size of `buffer`; 0 at the end. Blocks until something is there.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        while true {
            let count = systemRead(number, buffer)
            if count >= 0 { return count }
            if errno == EAGAIN {
                wait(for: Int16(POLLIN), milliseconds: -1)
            } else if errno != EINTR {
                throw SystemFailure(code: errno)
            }
        }
    }

    var isReadable: Bool { wait(for: Int16(POLLIN), milliseconds: 0) }

    /// Whether it was opened to be written. What stands in for a closed descriptor was not.
    var isForWriting: Bool {
        let mode = fcntl(number, F_GETFL)
        return mode >= 0 && mode & O_ACCMODE != O_RDONLY
    }

    /// Whether nobody is left at the other end: whatever is written to it fails.
    var hasNoReader: Bool {
        // Apple's systems tell nothing of a descriptor of which nothing is asked.
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR | POLLHUP) != 0
    }

    @discardableResult
    private func wait(for events: Int16, milliseconds: Int32) -> Bool {
        var request = pollfd(fd: number, events: events, revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }
}

/// A failed call to the operating system.
package struct SystemFailure: Error, CustomStringConvertible {
    /// `errno`.
    var code: Int32

    /// The system's words for it, such as "No such file or directory".
    package var description: String {
        // strerror keeps its text where other threads write theirs; this form has a place of its own.
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
