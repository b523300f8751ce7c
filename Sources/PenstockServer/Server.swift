import Hummingbird
import Logging
import Penstock
import PenstockAPI
import PenstockCore
import PenstockFormats
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
    /// The store's file, for how large it is.
    var file: String?

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
        try await ServiceGroup(
            configuration: .init(
                services: services, gracefulShutdownSignals: gracefulShutdownSignals, logger: logger)
        ).run()
    }

    /// The routes, and what every request passes on its way to them.
    func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        let requests = RequestTimes()
        router.add(middleware: requests)
        router.add(middleware: ProblemResponses())
        if tokens == nil { router.add(middleware: HostCheck(names: names)) }
        router.add(middleware: CrossSiteCheck())
        if isReadOnly { router.add(middleware: ReadOnly()) }
        router.add(middleware: Authentication(tokens, passesBy: Health.isAskedFor))
        Health(store: store).add(to: router)
        Metrics(store: store, file: file, requests: requests).add(to: router)
        API(store: store).add(to: router)
        return router
    }

    private var names: Set<String> {
        var names: Set<String> = ["localhost", "127.0.0.1", "::1"]
        for case .port(let host, _) in listen { names.insert(host) }
        return names.union(hosts)
    }
}
