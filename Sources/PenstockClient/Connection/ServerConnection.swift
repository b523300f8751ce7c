import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Penstock
import PenstockCore
import PenstockWire
import Synchronization

/// Requests to one server.
final class ServerConnection: Sendable {
    static let callTime = TimeAmount.seconds(60)
    /// Calls that are under way at once.
    private static let connectionCountMax = 1024
    /// Bytes of an answer: those of the largest claims, and a quarter for what else goes with their messages, such as the keys of
    /// groups and the names of tasks.
    static let answerBytesMax = ClaimRequest.claimedBytesMax / 4 * 5

    let url: ServerURL
    private let token: String?
    private let current: Mutex<HTTPClients>
    /// How often the clients are made anew at most.
    private let renewalInterval: Duration
    private let opened = Mutex<StoreID?>(nil)

    /// - Parameters:
    ///   - connectionCountMax: how many calls, and how many waits for rings, are under way at once. Further ones wait.
    ///   - renewalInterval: how often it is looked at most whom the system trusts, while the server's certificate is not trusted.
    /// - Throws: `PenstockError` with code `invalidInput` when that cannot be a token.
    init(
        _ url: ServerURL, token: String?, connectionCountMax: Int = ServerConnection.connectionCountMax,
        renewalInterval: Duration = .seconds(5)
    ) throws(PenstockError) {
        // The client of HTTP would repeat what it does not take, and a token is to be in no log.
        try require(
            token?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ?? true,
            "The token is not on one line, or has other control characters; is there a line feed at its end?")
        self.url = url
        self.token = token
        self.renewalInterval = renewalInterval
        current = Mutex(HTTPClients(connectionCountMax: connectionCountMax))
    }

    /// The clients that requests go by from now on.
    var clients: HTTPClients { current.withLock { $0 } }

    /// Hears that a request of `used` could not be sent.
    func hear(_ error: any Error, of used: HTTPClients) {
        // Of many requests that fail together one is enough.
        current.withLock { if $0 === used { $0 = used.next(after: error, interval: renewalInterval) } }
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
        let clients = self.clients
        // They end with the last request that uses them.
        defer { withExtendedLifetime(clients) {} }
        let client = onNewConnection ? clients.unpooled : path == WireFormat.ringPath ? clients.rings : clients.calls
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
                if !wasSent { hear(error, of: clients) }
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

    func close() async { await clients.shutDown() }
}
