import AsyncHTTPClient
import NIOCore
import NIOPosix

/// The clients of HTTP by which requests go to one server.
///
/// Each reads once, at its first connection, which authorities the system trusts, and keeps that for all others. They end with the last
/// request that uses them.
final class HTTPClients: Sendable {
    /// How long the system may take to make a connection.
    private static let connectTime = TimeAmount.seconds(5)
    /// Connections are let go earlier than by the server, so that no request meets one that is just being closed.
    private static let idleTime = TimeAmount.seconds(30)

    /// The system's sockets. The library would take Apple's own framework on its systems, whose errors are others than ``ConnectFailure``
    /// tells apart, and whose TLS is another.
    private static var loops: HTTPClient.EventLoopGroupProvider { .shared(MultiThreadedEventLoopGroup.singleton) }

    let calls: HTTPClient
    /// Each wait for a ring has a connection as well, in a pool of its own: calls never wait behind those.
    let rings: HTTPClient
    /// Keeps no connections: each call has a new one.
    let unpooled: HTTPClient
    private let connectionCountMax: Int
    private let madeAt = ContinuousClock.now

    /// - Parameter connectionCountMax: how many calls, and how many waits for rings, are under way at once. Further ones wait.
    init(connectionCountMax: Int) {
        self.connectionCountMax = connectionCountMax
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: Self.connectTime),
            connectionPool: .init(
                idleTimeout: Self.idleTime, concurrentHTTP1ConnectionsPerHostSoftLimit: connectionCountMax))
        configuration.httpVersion = .http1Only
        // Whoever calls decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        calls = HTTPClient(eventLoopGroupProvider: Self.loops, configuration: configuration)
        rings = HTTPClient(eventLoopGroupProvider: Self.loops, configuration: configuration)
        unpooled = HTTPClient(eventLoopGroupProvider: Self.loops, configuration: configuration)
    }

    deinit {
        // A client of HTTP that goes without a word ends the program.
        Task { [calls, rings, unpooled] in await Self.shutDown(calls, rings, unpooled) }
    }

    /// Those that are to be used after a request of these could not be sent. A certificate that is not trusted may be of an authority
    /// that the system has come to trust since these were made, so others read that anew, though no more often than in `interval`.
    func next(after error: any Error, interval: Duration) -> HTTPClients {
        guard ConnectFailure(error) == .untrusted, madeAt.duration(to: .now) >= interval else { return self }
        return HTTPClients(connectionCountMax: connectionCountMax)
    }

    /// Lets go of all connections.
    func shutDown() async { await Self.shutDown(calls, rings, unpooled) }

    private static func shutDown(_ clients: HTTPClient...) async {
        for client in clients { try? await client.shutdown() }
    }
}
