package import PenstockCore
package import PenstockFormats
package import PenstockProcesses
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Answers `GET /metrics` at an address of this machine, with one thread and one connection at a time.
///
/// For processes that are no servers, such as workers: the thread sleeps until a client asks. The client has some seconds for a head
/// of a few kilobytes and for reading the answer, so nobody holds it up for long.
package final class MetricsListener: Sendable {
    /// Bytes that a request's head may have.
    private static let headBytesMax = 8 * 1024
    /// How long a connection may take to send its head; and as long again to read the answer.
    private static let timeout = Duration.seconds(2)
    /// How long the thread rests when a connection cannot be taken.
    private static let pauseMicroseconds: UInt32 = 100_000

    /// Where it listens; with the port that the system has chosen, if it was to.
    package let address: ListenAddress
    private let socket: StreamSocket
    private let isStopped = Atomic<Bool>(false)

    /// Listens at `address`, and answers with `text` from then on.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` for an address that other machines reach, as no token is asked for; or
    ///   `storage` when nothing can listen there.
    package init(
        at address: ListenAddress, _ text: @escaping @Sendable () -> PrometheusText
    ) throws(PenstockError) {
        try require(
            address.isLocal,
            "\(address) can be reached from other machines, and metrics ask for no token; write 127.0.0.1:PORT or unix:PATH."
        )
        socket = try StreamSocket.listening(at: address.place)
        self.address = address.bound(to: socket.port)
        do {
            try SystemThread.start("penstock metrics") { [self] in answer(text) }
        } catch {
            socket.close()
            throw (error as? PenstockError) ?? PenstockError(.storage, "No thread can be made: \(error).", cause: error)
        }
    }

    /// Takes no more connections. No client is answered after this, but the one that is being answered now.
    package func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        #if canImport(Darwin)
            // A shutdown wakes nobody there. So the thread, which closes the socket, is given a connection, as long as that has its name.
            let waking = try? StreamSocket.connected(to: address.place, timeout: Self.timeout)
            if case .unix(let path) = address { unlink(path) }
            waking?.close()
        #else
            if case .unix(let path) = address { unlink(path) }
            // Wakes the thread, which closes the socket.
            shutdown(socket.descriptor, Int32(SHUT_RDWR))
            // A system on which that wakes nobody is asked for a connection instead.
            (try? StreamSocket.connected(to: address.place, timeout: Self.timeout))?.close()
        #endif
    }

    private func answer(_ text: () -> PrometheusText) {
        defer { socket.close() }
        while !isStopped.load(ordering: .relaxed) {
            guard let connection = socket.accepted(timeout: Self.timeout) else {
                // A process without a descriptor left is asked again at once, and has none at once.
                usleep(Self.pauseMicroseconds)
                continue
            }
            if !isStopped.load(ordering: .relaxed) { answer(connection, text) }
            connection.close()
        }
    }

    private func answer(_ connection: StreamSocket, _ text: () -> PrometheusText) {
        let deadline = ContinuousClock.now + Self.timeout
        var head: [UInt8] = []
        while !head.contains(Array("\r\n\r\n".utf8)) {
            guard head.count < Self.headBytesMax, ContinuousClock.now < deadline else { return }
            let more = connection.read(Self.headBytesMax - head.count, by: deadline)
            guard !more.isEmpty else { return }
            head += more
        }
        let isPort = if case .port = address { true } else { false }
        let answer = MetricsRequest(head).answer(checksHost: isPort) { text().bytes }
        connection.write(answer, by: .now + Self.timeout)
    }
}

extension ListenAddress {
    /// The address as sockets have it.
    package var place: StreamSocket.Place {
        switch self {
        case .port(let host, let port): .port(host: host, port)
        case .unix(let path): .path(path)
        }
    }
}
