import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Penstock
import PenstockCore
import PenstockWire
import Synchronization

/// Requests to one server.
final class ServerConnection: Sendable {
    static let callPath = "/v1/store"
    static let ringPath = "/v1/store/rings"
    static let callTime = TimeAmount.seconds(60)
    /// How long the system may take to make a connection.
    private static let connectTime = TimeAmount.seconds(5)
    /// Connections are let go earlier than by the server, so that no request meets one that is just being closed.
    private static let idleTime = TimeAmount.seconds(30)
    /// Calls that are under way at once. Each wait for a ring has a connection as well, in a pool of its own: calls never wait
    /// behind those.
    private static let connectionCountMax = 1024
    /// Bytes of an answer: those of the largest claims, and a quarter for what else goes with their messages, such as the keys of
    /// groups and the names of tasks.
    static let answerBytesMax = ClaimRequest.claimedBytesMax / 4 * 5

    let url: ServerURL
    private let token: String?
    private let calls: HTTPClient
    private let rings: HTTPClient
    /// Keeps no connections: each call has a new one.
    private let unpooled: HTTPClient
    private let opened = Mutex<StoreID?>(nil)

    /// - Parameter connectionCountMax: how many calls, and how many waits for rings, are under way at once. Further ones wait.
    /// - Throws: `PenstockError` with code `invalidInput` when that cannot be a token.
    init(
        _ url: ServerURL, token: String?, connectionCountMax: Int = ServerConnection.connectionCountMax
    ) throws(PenstockError) {
        // The client of HTTP would repeat what it does not take, and a token is to be in no log.
        try require(
            token?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ?? true,
            "The token is not on one line, or has other control characters; is there a line feed at its end?")
        self.url = url
        self.token = token
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: Self.connectTime),
            connectionPool: .init(
                idleTimeout: Self.idleTime, concurrentHTTP1ConnectionsPerHostSoftLimit: connectionCountMax))
        configuration.httpVersion = .http1Only
        // Whoever calls decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        calls = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        rings = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        unpooled = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // A client of HTTP that goes without a word ends the program.
        Task { [calls, rings, unpooled] in await Self.shutDown(calls, rings, unpooled) }
    }

    /// Makes a request, and returns what the server answers.
    ///
    /// - Parameters:
    ///   - time: how long it may take until all of the answer is there.
    ///   - onNewConnection: whether none that is kept may be used.
    /// - Throws: `PenstockError` with code `unreachable` when nothing was done, `outcomeUnknown` when that is not known, `forbidden`,
    ///   and whatever the server says. `CancellationError` when the task is cancelled and the request changes nothing.
    func answer(
        to bytes: [UInt8], at path: String, _ purpose: RequestPurpose, within time: TimeAmount,
        onNewConnection: Bool = false
    ) async throws -> [UInt8] {
        let client = onNewConnection ? unpooled : path == Self.ringPath ? rings : calls
        let deadline = NIODeadline.now() + time
        var isLast = false
        while true {
            let body = RequestBody(bytes)
            do {
                var request = request(body, path)
                if onNewConnection { request.headers.add(name: "connection", value: "close") }
                return try await answer(to: request, from: client, purpose, by: deadline)
            } catch let error as PenstockError {
                throw error
            } catch is NIOTooManyBytesError {
                throw PenstockError(
                    purpose == .changing ? .outcomeUnknown : .storage,
                    "The answer of the server at \(url) has more than \(Self.answerBytesMax) bytes, which no client takes; ask for less "
                        + "at once.")
            } catch {
                // Only what changes nothing is cut short, and nobody is to look for a server because of that.
                if purpose != .changing { try Task.checkCancellation() }
                let wasSent = body.wasSent
                if wasSent, purpose == .changing {
                    throw PenstockError(
                        .outcomeUnknown,
                        "The connection to the server at \(url) ended before its answer came: nobody knows whether the call took effect.",
                        cause: error)
                }
                if !wasSent || isLast || deadline <= .now() { throw ConnectFailure(error).error(at: url, error) }
                isLast = true
            }
        }
    }

    private func request(_ body: RequestBody, _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url.address(of: path))
        request.method = .POST
        request.headers.add(name: "content-type", value: WireFormat.contentType)
        if let store = openedStore { request.headers.add(name: WireFormat.storeHeader, value: store.rawValue) }
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        request.body = .bytes(body)
        return request
    }

    private func answer(
        to request: HTTPClientRequest, from client: HTTPClient, _ purpose: RequestPurpose, by deadline: NIODeadline
    ) async throws -> [UInt8] {
        let (head, body) = try await response(to: request, from: client, by: deadline)
        if head.status == .ok, head.headers.first(name: "content-type") == WireFormat.contentType {
            return Array(body.readableBytesView)
        }
        let status = Int(head.status.code)
        throw Refusal(status: status, headers: head.headers, body: body)?.error(at: url)
            ?? ForeignAnswer(status: status).error(at: url, purpose)
    }

    /// A response with all of its body. The client of HTTP has a deadline for the head alone.
    private func response(
        to request: HTTPClientRequest, from client: HTTPClient, by deadline: NIODeadline
    ) async throws -> (head: HTTPClientResponse, body: ByteBuffer) {
        let exchange = ownTask {
            let response = try await client.execute(request, deadline: deadline)
            let body = try await response.body.collect(upTo: Self.answerBytesMax)
            // A body that is cut short by that is none.
            try Task.checkCancellation()
            return (response, body)
        }
        let end = client.eventLoopGroup.any().scheduleTask(deadline: deadline) { exchange.cancel() }
        defer { end.cancel() }
        return try await withTaskCancellationHandler {
            try await exchange.value
        } onCancel: {
            exchange.cancel()
        }
    }

    /// The store that is meant by all that is asked: the first that the server has named. `nil`: it has named none yet.
    var openedStore: StoreID? { opened.withLock { $0 } }

    /// Hears which store the server has.
    func hasOpened(_ store: StoreID?) { opened.withLock { $0 = $0 ?? store } }

    func close() async { await Self.shutDown(calls, rings, unpooled) }

    private static func shutDown(_ clients: HTTPClient...) async {
        for client in clients { try? await client.shutdown() }
    }
}
