import Foundation
import Hummingbird
import Logging
import Penstock
import PenstockCore
import PenstockDashboard
import PenstockFormats
import PenstockHTTP
import PenstockTestKit
import ServiceLifecycle
import Tracing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@testable import PenstockServer

/// A server of the test's own process, on a port of its own, with real sockets.
struct TestServer {
    let store: PenstockStore
    let url: URL
    /// What requests show that say nothing else; `nil`: no token.
    var token: String?

    /// The same server, for somebody who shows a token.
    func showing(_ token: String) -> TestServer { TestServer(store: store, url: url, token: token) }

    /// Calls `body` with a server that takes requests, and stops it. One that listens at a socket in the file system is spoken to with
    /// ``RawClient``. A test of what it answers as it stops gives it the time that a busy machine needs; for that long it keeps its store.
    static func run(
        store: PenstockStore = PenstockStore(TestDatabase().open()),
        at address: ListenAddress = .port(host: "127.0.0.1", 0), tokens: Tokens? = nil, hosts: [String] = [],
        isReadOnly: Bool = false, name: String? = nil, path: String? = nil, health: HealthSource? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, tracer: (any Tracer)? = nil,
        finishTime: Duration = .seconds(1), cancelTime: Duration = .seconds(5),
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let server = Server(
            store: store, listen: [address], tokens: tokens, hosts: hosts, isReadOnly: isReadOnly,
            name: name, health: health ?? path.map(HealthSource.init(path:)), logger: logger, tracer: tracer,
            finishTime: finishTime, cancelTime: cancelTime)
        let (addresses, continuation) = AsyncStream.makeStream(of: ListenAddress.self)
        // Told to stop as by a signal. To be cancelled is for the worst: SwiftNIO traps when a connection has come that nobody has
        // taken yet.
        let service = ServiceGroup(
            configuration: .init(
                services: [.init(service: Running(server: server, isReady: { continuation.yield($0) }))], logger: logger
            ))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            var ready = addresses.makeAsyncIterator()
            guard let address = await ready.next() else { return }
            let place = if case .unix = address { "localhost" } else { "\(address)" }
            guard let url = URL(string: "http://\(place)") else { return }
            try await body(TestServer(store: store, url: url))
            await service.triggerGracefulShutdown()
            try await group.next()
        }
    }

    private struct Running: Service {
        let server: Server
        let isReady: @Sendable (ListenAddress) async -> Void

        func run() async throws { try await server.run(gracefulShutdownSignals: [], isReady: isReady) }
    }

    /// Makes a request, and returns its status, its headers and its body. Where an answer leads elsewhere, it is not followed.
    func request(
        _ method: String, _ path: String, headers: [String: String] = [:], body: Data? = nil
    ) async throws -> TestResponse {
        guard let target = URL(string: url.absoluteString + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: target)
        request.httpMethod = method
        request.httpBody = body
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return TestResponse(status: response.statusCode, headers: response, body: data)
    }
}

private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

/// What a server has answered.
struct TestResponse {
    var status: Int
    var headers: HTTPURLResponse
    var body: Data

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The header of that name.
    func header(_ name: String) -> String? { headers.value(forHTTPHeaderField: name) }

    /// The body as JSON.
    func json() throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: body) as? [String: Any] ?? [:]
    }
}
