import Hummingbird
import Logging
import Penstock
import PenstockAPI
import PenstockCore
import PenstockDashboard
import PenstockFormats
import PenstockHTTP
import PenstockSQS
import ServiceLifecycle
import Tracing
import UnixSignals

/// The server: a store, its faces, and the addresses where it listens.
struct Server {
    var store: PenstockStore
    var listen: [ListenAddress]
    /// `nil`: no token is asked for.
    var tokens: Tokens?
    /// Connections at each address at the same time.
    var connectionCountMax = Self.connectionCountMax
    /// Names by which it is called, beside those of its addresses.
    var hosts: [String]
    var isReadOnly: Bool
    /// Whether it looks for lost work and fires schedules, as a worker does, for queues that nobody else works.
    var keepsUp = true
    /// What people call it.
    var name: String?
    /// What the doctor's page looks at; `nil`: nothing can be.
    var health: HealthSource?
    var logger: Logger
    /// What traces requests; `nil`: nobody.
    var tracer: (any Tracer)?
    /// How long requests may take to come to their end when the server is told to stop. Then their connections are closed.
    var finishTime = Duration.seconds(1)
    /// What has not ended long after that, as a store does not answer, is cancelled.
    var cancelTime = Duration.seconds(5)

    /// The server takes no more connections at one address than this, however many files its process may have open.
    static let connectionCountMax = 4096

    /// Serves until the process is told to stop, and finishes what it has begun.
    ///
    /// - Parameter isReady: is told of each address once connections are taken there.
    func run(
        gracefulShutdownSignals: [UnixSignal] = [.sigterm, .sigint],
        isReady: @escaping @Sendable (ListenAddress) async -> Void
    ) async throws {
        let dashboard = self.dashboard
        let requests = RequestTimes()
        let router = router(dashboard, requests)
        OtherMethods.add(to: router, problemPage: dashboard.problemPage)
        let responder = OtherMethods.Responder(routes: router.buildResponder())
        let coalescing = coalescing(requests)
        let listenerLog = ListenerLog()
        let watch = SocketWatch(listen, time: store.time, logger: logger)
        var services = listen.map { address in
            let listener = Listener(
                address, connectionCountMax: connectionCountMax, finishTime: finishTime, responder: responder,
                handlers: { coalescing.map { [CoalescingHandler($0)] } ?? [] as [CoalescingHandler] },
                logger: listenerLog.logger(logger)
            ) { address in
                watch.isReady(address)
                await isReady(address)
            }
            return ServiceGroupConfiguration.ServiceConfiguration(
                service: ListenerLog.Part(listener: listener, log: listenerLog))
        }
        // Services are told to stop the last one first: when open pages are told no more, listeners have no streams to wait for.
        services.append(.init(service: DashboardService(dashboard: dashboard)))
        // Before listeners remove their sockets it looks no more.
        if SocketWatch.isFor(listen) {
            services.append(.init(service: watch, failureTerminationBehavior: .gracefullyShutdownGroup))
        }
        if keepsUp {
            let upkeep = Upkeep(store: store, isReadOnly: isReadOnly)
            services.insert(.init(service: upkeep, failureTerminationBehavior: .gracefullyShutdownGroup), at: 0)
        }
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: gracefulShutdownSignals, logger: logger)
        configuration.maximumGracefulShutdownDuration = cancelTime
        try await ServiceGroup(configuration: configuration).run()
    }

    /// The routes, and what every request passes on its way to them.
    func router(_ dashboard: Dashboard, _ requests: RequestTimes = RequestTimes()) -> Router<ServerContext> {
        // HEAD is asked wherever GET is.
        let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: requests)
        if let tracer { router.add(middleware: RequestSpans(tracer: tracer)) }
        router.add(middleware: ProblemResponses())
        router.add(middleware: DoorChecks(checks, problemPage: dashboard.problemPage))
        SQS(store: store, tokens: tokens).add(to: router)
        Health(store: store).add(to: router)
        Metrics(store: store, file: health?.filePath, requests: requests).add(to: router)
        API(store: store, isReadOnly: isReadOnly).add(to: router)
        dashboard.add(to: router)
        return router
    }

    /// What answers enqueues together; `nil` where nothing is changed, or each request has a span of its own.
    private func coalescing(_ requests: RequestTimes) -> Coalescing? {
        if isReadOnly || tracer != nil { return nil }
        return Coalescing(store: store, checks: DoorChecks(checks), asksForTokens: tokens != nil, logger: logger) {
            path, status, duration in
            requests.record(.post, path, status, duration)
        }
    }

    /// What each request is asked before any route is reached, in this order.
    private var checks: [any DoorCheck] {
        var checks: [any DoorCheck] = []
        if tokens == nil { checks.append(HostCheck(names: names)) }
        checks.append(CrossSiteCheck())
        if isReadOnly {
            checks.append(
                ReadOnly { !SQS.isAskedFor($0) && (Dashboard.onlyLooks($0) || StoreCalling.isAskedFor($0)) })
        }
        // The dashboard's pages look at the visitor by themselves, and lead one who is not known to a page that asks for a token.
        // Clients of Amazon SQS sign what they ask.
        checks.append(
            Authentication(tokens) { Health.isAskedFor($0) || Dashboard.isAskedFor($0) || SQS.isAskedFor($0) })
        checks.append(CodingCheck { SQS.isAskedFor($0) })
        return checks
    }

    /// The pages, with what they have seen of the store.
    var dashboard: Dashboard {
        Dashboard(
            store: store, health: health, name: name, tokens: tokens, isReadOnly: isReadOnly, time: store.time)
    }

    private var names: Set<String> {
        var names: Set<String> = ["localhost", "127.0.0.1", "::1"]
        for case .port(let host, _) in listen { names.insert(host) }
        return names.union(hosts)
    }
}

/// Keeps the dashboard's pages up to date until the server is told to stop.
private struct DashboardService: Service {
    let dashboard: Dashboard

    func run() async throws { await cancelWhenGracefulShutdown { await dashboard.run() } }
}
