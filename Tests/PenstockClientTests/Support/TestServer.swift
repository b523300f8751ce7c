import Logging
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP
import ServiceLifecycle
import Synchronization

@testable import PenstockServer

/// A server of the test's own process, with real sockets.
final class TestServer: Sendable {
    let store: PenstockStore
    /// Where it listens.
    let url: String
    private let group: ServiceGroup
    private let running: Task<Void, any Error>

    /// Starts a server, and returns when it takes connections.
    static func start(
        _ store: PenstockStore, at address: ListenAddress = .port(host: "127.0.0.1", 0), tokens: Tokens? = nil,
        isReadOnly: Bool = false, keepsUp: Bool = true
    ) async throws -> TestServer {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var server = Server(
            store: store, listen: [address], tokens: tokens, hosts: [], isReadOnly: isReadOnly, name: nil,
            logger: logger)
        server.keepsUp = keepsUp
        let (addresses, ready) = AsyncStream.makeStream(of: ListenAddress.self)
        let service = Running(server: server) { ready.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
        let running = Task {
            defer { ready.finish() }
            try await group.run()
        }
        for await bound in addresses {
            let url = if case .unix = bound { "\(bound)" } else { "http://\(bound)" }
            return TestServer(store, url, group, running)
        }
        try await running.value
        throw PenstockError(.storage, "The server ended before it listened.")
    }

    private init(_ store: PenstockStore, _ url: String, _ group: ServiceGroup, _ running: Task<Void, any Error>) {
        (self.store, self.url, self.group, self.running) = (store, url, group, running)
    }

    /// Stops it as a signal does.
    func stop() async {
        await group.triggerGracefulShutdown()
        _ = try? await running.value
    }

    private struct Running: Service {
        let server: Server
        let isReady: @Sendable (ListenAddress) async -> Void

        func run() async throws { try await server.run(gracefulShutdownSignals: [], isReady: isReady) }
    }
}
