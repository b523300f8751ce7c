import Foundation
import Synchronization

@testable import PenstockProcesses

/// A relay in front of each server. One that stands still has its connections open, takes new ones, and passes nothing on.
final class RelayNetwork: TestNetwork {
    private let relays = Mutex<[String: Relay]>([:])

    func prefix(of node: FaultyServers.Node) -> [String] { [] }
    func listenAddress(of node: FaultyServers.Node) -> String { "" }
    func unplug(_ node: FaultyServers.Node) { relay(of: node)?.standStill(true) }
    func plug(_ node: FaultyServers.Node) { relay(of: node)?.standStill(false) }

    func place(of node: FaultyServers.Node) -> (host: String, port: Int) {
        ("127.0.0.1", relay(of: node)?.port ?? 0)
    }

    private func relay(of node: FaultyServers.Node) -> Relay? {
        relays.withLock { relays in
            if relays[node.name] == nil { relays[node.name] = try? Relay(to: node.socketFolder + "/.s.PGSQL.5432") }
            return relays[node.name]
        }
    }
}

/// Passes bytes on between TCP on the loopback and a server's socket, on a thread of its own, until it is told to stand still, or to lose
/// the connections that are open.
final class Relay: Sendable {
    private enum Order {
        case keepAnswers, hangUp, forget
    }

    let port: Int
    private let control: Int32
    private let isStill = Mutex(false)
    private let orders = Mutex<[(order: Order, done: CheckedContinuation<Void, Never>)]>([])

    /// The address of what is at `url`, at this machine's server, by way of this relay.
    func url(_ url: String) -> String { url.replacing(/\?host=[^&]*/, with: "?host=127.0.0.1") + "&port=\(port)" }

    /// - Throws: when there are no descriptors left.
    init(to path: String) throws {
        let listener = socket(AF_INET, StreamSocket.stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        var ends: [Int32] = [0, 0]
        guard isListening, pipe(&ends) == 0 else { throw PostgresServer.Failure(description: "There is no relay.") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        Self.keepToItself(listener)
        port = Int(UInt16(bigEndian: address.sin_port))
        control = ends[1]
        let reading = ends[0]
        Thread.detachNewThread { [self] in run(listener, reading, path) }
    }

    func standStill(_ isStill: Bool) {
        self.isStill.withLock { $0 = isStill }
        wake()
    }

    /// What the server says from now on, on the connections that are open, goes no further.
    func keepAnswers() async { await carryOut(.keepAnswers) }

    /// Ends the connections that are open for the clients. The server does not learn of it, as of a client whose host has vanished.
    func hangUp() async { await carryOut(.hangUp) }

    /// Ends for the server, too, the connections that were ended for the clients.
    func forget() async { await carryOut(.forget) }

    private func carryOut(_ order: Order) async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            orders.withLock { $0.append((order, done)) }
            wake()
        }
    }

    private func wake() {
        var byte: UInt8 = 0
        _ = write(control, &byte, 1)
    }

    /// Runs as long as the tests do.
    private func run(_ listener: Int32, _ reading: Int32, _ path: String) {
        var pairs: [(Int32, Int32)] = []
        // Servers' ends: those that nobody listens to, and those that have no client any more.
        var unheard: Set<Int32> = []
        var left: [Int32] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let isStill = isStill.withLock { $0 }
            let open = pairs.flatMap { [$0.0, $0.1] }.filter { !unheard.contains($0) }
            let sources = isStill ? [] : [listener] + open
            var watched = ([reading] + sources).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
            let ready = Set(watched.filter { $0.revents != 0 }.map(\.fd))
            if ready.contains(reading) {
                _ = read(reading, &buffer, buffer.count)
                let given = orders.withLock { orders in
                    defer { orders = [] }
                    return orders
                }
                for (order, done) in given {
                    switch order {
                    case .keepAnswers: unheard = Set(pairs.map { $0.1 })
                    case .hangUp:
                        for pair in pairs { close(pair.0) }
                        left += pairs.map { $0.1 }
                        (pairs, unheard) = ([], [])
                    case .forget:
                        for server in left { close(server) }
                        left = []
                    }
                    done.resume()
                }
                // What is ready may be closed.
                if !given.isEmpty { continue }
            }
            if ready.contains(listener) {
                let client = accept(listener, nil, nil)
                Self.keepToItself(client)
                if let server = Self.connected(to: path) { pairs.append((client, server)) } else { close(client) }
            }
            pairs.removeAll { pair in
                for (from, to) in [pair, (pair.1, pair.0)] where ready.contains(from) {
                    let count = recv(from, &buffer, buffer.count, 0)
                    if count > 0, Self.sendAll(buffer[..<count], to: to) { continue }
                    close(pair.0)
                    close(pair.1)
                    unheard.remove(pair.1)
                    return true
                }
                return false
            }
        }
    }

    private static func keepToItself(_ descriptor: Int32) {
        let socket = StreamSocket(descriptor: descriptor)
        socket.keepFromChildren()
        socket.keepFromSignals()
    }

    private static func sendAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var left = bytes
        while !left.isEmpty {
            let count = left.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, StreamSocket.withoutSignal) }
            if count <= 0 { return false }
            left = left.dropFirst(count)
        }
        return true
    }

    private static func connected(to path: String) -> Int32? {
        let server = socket(AF_UNIX, StreamSocket.stream, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        keepToItself(server)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        if isConnected { return server }
        close(server)
        return nil
    }
}
