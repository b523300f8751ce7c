package import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import PenstockCore
package import PenstockFormats
import PenstockProcesses
import ServiceLifecycle
import Synchronization

/// Takes connections at one address, as a service, and gives each request to the routes.
package struct Listener<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    /// Bytes of the headers of one request: payloads are no headers.
    package static var headerBytesMax: Int { 64 * 1024 }

    let address: ListenAddress
    let connectionCountMax: Int
    let finishTime: Duration
    let responder: Responder
    let handlers: @Sendable () -> [any RemovableChannelHandler]
    let logger: Logger
    let isReady: @Sendable (ListenAddress) async -> Void

    /// - Parameters:
    ///   - address: where to listen.
    ///   - connectionCountMax: how many connections there may be at the same time. More wait in the system's line.
    ///   - finishTime: how long requests may take to come to their end when it is told to stop. Then their connections are closed.
    ///   - responder: what answers requests.
    ///   - handlers: what else each connection's parts of requests and responses pass; made anew for each.
    ///   - logger: where to say what goes wrong.
    ///   - isReady: is told, once, when connections are taken; with the port that the system has chosen, if it was to.
    package init(
        _ address: ListenAddress, connectionCountMax: Int, finishTime: Duration, responder: Responder,
        handlers: @escaping @Sendable () -> [any RemovableChannelHandler], logger: Logger,
        isReady: @escaping @Sendable (ListenAddress) async -> Void
    ) {
        self.address = address
        self.connectionCountMax = connectionCountMax
        self.finishTime = finishTime
        self.responder = responder
        self.handlers = handlers
        self.logger = logger
        self.isReady = isReady
    }

    /// Takes connections until it is told to stop.
    ///
    /// - Throws: `PenstockError` that says why it cannot listen there.
    package func run() async throws {
        var lock: SocketLock?
        // After its socket is removed: another program may then make one.
        defer { lock?.release() }
        if case .unix(let path) = address {
            lock = try SocketLock(of: path)
            try SocketFile.makeRoom(at: path)
            try SocketFile.makeRoom(at: SocketFile.draft(of: path))
        }
        let place = Mutex<Result<SocketFile, PenstockError>?>(nil)
        defer { if case .success(let file)? = place.withLock({ $0 }) { file.remove() } }
        try await listen { channel in
            if case .unix(let path) = address {
                let result = Result { () throws(PenstockError) in try SocketFile(publishing: path) }
                place.withLock { $0 = result }
                // With its channel closed the listener ends.
                if case .failure = result { return try await channel.close() }
            }
            await isReady(address.bound(to: channel.localAddress?.port))
        }
        if case .failure(let error)? = place.withLock({ $0 }) { throw error }
    }

    private func listen(_ isBound: @escaping @Sendable (any Channel) async throws -> Void) async throws {
        let connections = OpenConnections()
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ConnectionWatch(connections)] + handlers(),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.headerBytesMax, maxHeaderListSize: Self.headerBytesMax,
                        maxHeaderFieldCount: 200))),
            configuration: ApplicationConfiguration(
                address: address.bindAddress, serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(connectionCountMax)),
            onServerRunning: { channel in try? await isBound(channel) },
            logger: logger)
        do {
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: {
                // Waits end by themselves. What a client has begun to send, or does not read, is not waited for.
                Task {
                    try await Task.sleep(for: finishTime)
                    connections.closeAll()
                }
            }
        } catch {
            throw address.failure(error) ?? error
        }
    }
}
