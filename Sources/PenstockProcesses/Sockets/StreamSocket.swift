import Foundation
package import PenstockCore

/// A stream between programs: by a port, or by a socket in the file system. Calls block, and no process that this one starts inherits
/// it.
package struct StreamSocket: Sendable {
    /// The descriptor, which whoever made this closes.
    package let descriptor: Int32

    /// Where it is on this machine.
    package enum Place: Hashable, Sendable {
        /// `localhost`, an address that begins with 127, or `::1`.
        case port(host: String, Int)
        case path(String)
    }

    /// Takes connections at `place`. A socket in the file system is its owner's alone, and takes the place of one that nobody listens
    /// at any more.
    ///
    /// - Throws: `PenstockError` that says why it cannot.
    package static func listening(at place: Place) throws(PenstockError) -> StreamSocket {
        var lock: SocketLock?
        defer { lock?.release() }
        if case .path(let path) = place {
            lock = try SocketLock(of: path)
            try SocketFile.makeRoom(at: path)
        }
        let socket = try made(for: place)
        // Connections have it from here: of one whose other end has closed already, Apple's systems let nothing be set.
        socket.keepFromSignals()
        var yes: Int32 = 1
        setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard try place.with({ bind(socket.descriptor, $0, $1) }) == 0, listen(socket.descriptor, 16) == 0 else {
            throw socket.failure("Nothing can listen at \(place)")
        }
        if case .path(let path) = place { chmod(path, 0o600) }
        return socket
    }

    /// Connects to the process that listens at `place`.
    ///
    /// - Throws: `PenstockError` with code `storage` when nobody does, or `invalidInput`.
    package static func connected(to place: Place, timeout: Duration) throws(PenstockError) -> StreamSocket {
        let socket = try made(for: place)
        socket.prepare(timeout: timeout)
        guard try place.with({ socket.connect(to: $0, $1) }) else {
            throw socket.failure("Nobody can be reached at \(place)")
        }
        return socket
    }

    /// The port that it is bound to, if it is one.
    package var port: Int? {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port lies at the same place in both kinds of addresses.
        let isPort = [AF_INET, AF_INET6].contains(Int32(address.sin6_family))
        return result == 0 && isPort ? Int(UInt16(bigEndian: address.sin6_port)) : nil
    }

    /// The next connection; `nil` when there is none after all.
    package func accepted(timeout: Duration) -> StreamSocket? {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return nil }
        let socket = StreamSocket(descriptor: connection)
        socket.prepare(timeout: timeout)
        return socket
    }

    /// Reads what is there, at most `count` bytes; empty at the end, and when nothing comes in time, or before the deadline.
    package func read(_ count: Int, by deadline: ContinuousClock.Instant? = nil) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while true {
                if let deadline, !setTimeout(until: deadline) { return }
                let result = recv(descriptor, buffer.baseAddress, count, 0)
                // A signal ends a call, and so does a stop of the process: that is not the other end's doing.
                if result < 0, errno == EINTR { continue }
                filled = max(0, result)
                return
            }
        }
    }

    /// Writes all of `bytes`. An other end that takes them drop by drop holds this up for as long as it likes, unless there is a
    /// deadline.
    ///
    /// - Returns: whether that was done in time.
    @discardableResult
    package func write(_ bytes: [UInt8], by deadline: ContinuousClock.Instant? = nil) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            if let deadline, !setTimeout(until: deadline) { return false }
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.withoutSignal) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    package func close() { Foundation.close(descriptor) }
}

extension StreamSocket {
    static func made(for place: Place) throws(PenstockError) -> StreamSocket {
        let descriptor = socket(try place.with({ address, _ in Int32(address.pointee.sa_family) }), stream, 0)
        guard descriptor >= 0 else { throw SystemErrors.failure("No socket can be made", errno) }
        let made = StreamSocket(descriptor: descriptor)
        made.keepFromChildren()
        return made
    }

    /// Connects. What a signal interrupts goes on, or has to be begun anew: made again the call waits for it, or finds it done.
    ///
    /// - Returns: whether it is connected; else `errno` says why not.
    func connect(to address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Bool {
        SystemCall.uninterrupted { Foundation.connect(descriptor, address, length) } == 0 || errno == EISCONN
    }

    /// Sees to it that neither a child nor a signal nor a silent other end is in the way.
    func prepare(timeout: Duration) {
        keepFromChildren()
        setTimeout(timeout)
        keepFromSignals()
    }

    /// Has a write to an end that has closed fail, and not end the process. Where writes can ask for that themselves, they do.
    func keepFromSignals() {
        #if canImport(Darwin)
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    func keepFromChildren() {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Has each call end at the deadline. Returns whether that is still to come.
    private func setTimeout(until deadline: ContinuousClock.Instant) -> Bool {
        let left = ContinuousClock.now.duration(to: deadline)
        if left <= .zero { return false }
        setTimeout(left)
        return true
    }

    private func setTimeout(_ timeout: Duration) {
        var time = timeval()
        time.tv_sec = .init(timeout.components.seconds)
        // 0 would be for ever.
        time.tv_usec = .init(max(timeout.components.attoseconds / 1_000_000_000_000, timeout < .seconds(1) ? 1000 : 0))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private func failure(_ what: String) -> PenstockError {
        let code = errno
        close()
        return SystemErrors.failure(what, code)
    }

    #if canImport(Glibc)
        static let stream = Int32(SOCK_STREAM.rawValue)
        static let withoutSignal = Int32(MSG_NOSIGNAL)
    #elseif canImport(Musl)
        static let stream = SOCK_STREAM
        static let withoutSignal = MSG_NOSIGNAL
    #else
        static let stream = SOCK_STREAM
        static let withoutSignal: Int32 = 0
    #endif
}
