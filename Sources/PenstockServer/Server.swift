import Hummingbird
import Logging
import Penstock
import PenstockAPI
import PenstockCore
import PenstockHTTP
import ServiceLifecycle
import UnixSignals

/// The server: a store, its faces, and the addresses where it listens.
struct Server {
    var store: PenstockStore
    var listen: [ListenAddress]
    /// `nil`: no token is asked for.
    var tokens: Tokens?
    /// Names by which it is called, beside those of its addresses.
    var hosts: [String]
    var isReadOnly: Bool
    var logger: Logger

    /// How long requests may take to come to their end when the server is told to stop.
    private static let finishTime = Duration.milliseconds(1500)

    /// Serves until the process is told to stop, and finishes what it has begun.
    ///
    /// - Parameter isReady: is told of each address once connections are taken there.
    func run(
        gracefulShutdownSignals: [UnixSignal] = [.sigterm, .sigint],
        isReady: @escaping @Sendable (ListenAddress) async -> Void
    ) async throws {
        let responder = router().buildResponder()
        let services = listen.map { address in
            ServiceGroupConfiguration.ServiceConfiguration(
                service: Listener(address, responder: responder, logger: logger, isReady: isReady))
        }
        let upkeep = isReadOnly ? [] : [ServiceGroupConfiguration.ServiceConfiguration(service: Upkeep(store: store))]
        var configuration = ServiceGroupConfiguration(
            services: upkeep + services, gracefulShutdownSignals: gracefulShutdownSignals, logger: logger)
        // What waits ends at once. What a client has begun to send, or does not read, is not waited for.
        configuration.maximumGracefulShutdownDuration = Self.finishTime
        try await ServiceGroup(configuration: configuration).run()
    }

    /// The routes, and what every request passes on its way to them.
    func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.add(middleware: ProblemResponses())
        if tokens == nil { router.add(middleware: HostCheck(names: names)) }
        router.add(middleware: CrossSiteCheck())
        if isReadOnly { router.add(middleware: ReadOnly()) }
        router.add(middleware: Authentication(tokens, passesBy: Health.isAskedFor))
        Health(store: store).add(to: router)
        API(store: store).add(to: router)
        return router
    }

    private var names: Set<String> {
        var names: Set<String> = ["localhost", "127.0.0.1", "::1"]
        for case .port(let host, _) in listen { names.insert(host) }
        return names.union(hosts)
    }
}
