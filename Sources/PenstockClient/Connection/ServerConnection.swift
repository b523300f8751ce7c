import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PenstockCore
import PenstockWire

/// Requests to one server.
final class ServerConnection: Sendable {
    /// Where calls of the store go.
    static let callPath = "/v1/store"
    /// Where waits for rings go.
    static let ringPath = "/v1/store/rings"
    /// How long the system may take to make a connection.
    private static let connectTime = TimeAmount.seconds(5)
    /// Connections are let go earlier than by the server, so that no request meets one that is just being closed.
    private static let idleTime = TimeAmount.seconds(30)
    /// Each wait for a ring has a connection of its own.
    private static let connectionCountMax = 1024
    /// Bytes of an answer: those of the largest claim, and of what goes with its messages.
    private static let answerBytesMax = 4 * Limits.batchBytesMax

    let url: ServerURL
    private let token: String?
    private let client: HTTPClient

    /// - Parameters:
    ///   - url: where the server is.
    ///   - token: what it is shown; `nil`: nothing.
    init(_ url: ServerURL, token: String?) {
        self.url = url
        self.token = token
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: Self.connectTime),
            connectionPool: .init(
                idleTimeout: Self.idleTime, concurrentHTTP1ConnectionsPerHostSoftLimit: Self.connectionCountMax))
        configuration.httpVersion = .http1Only
        // Whoever calls decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // A client of HTTP that goes without a word ends the program.
        Task { [client] in try? await client.shutdown() }
    }

    /// Makes a request, and returns what the server answers.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - path: where it goes.
    ///   - isReading: whether it changes nothing. It is made once more when its connection broke.
    ///   - time: how long it may take.
    /// - Throws: `PenstockError` with code `unreachable` when nothing was done, `outcomeUnknown` when that is not known, `forbidden`,
    ///   and whatever the server says.
    func answer(to bytes: [UInt8], at path: String, isReading: Bool, within time: TimeAmount) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url.address(of: path))
        request.method = .POST
        request.headers.add(name: "content-type", value: WireFormat.contentType)
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        request.body = .bytes(ByteBuffer(bytes: bytes))
        do {
            return try await send(request, within: time)
        } catch let error as PenstockError {
            throw error
        } catch {
            if isReading, BrokenConnection(error) == .perhapsDone {
                do { return try await send(request, within: time) } catch let error as PenstockError {
                    throw error
                } catch { throw BrokenConnection.nothingDone.error(at: url, error) }
            }
            throw (isReading ? .nothingDone : BrokenConnection(error)).error(at: url, error)
        }
    }

    private func send(_ request: HTTPClientRequest, within time: TimeAmount) async throws -> [UInt8] {
        let response = try await client.execute(request, timeout: time)
        let body = try await response.body.collect(upTo: Self.answerBytesMax)
        guard response.status == .ok, response.headers.first(name: "content-type") == WireFormat.contentType else {
            throw Refusal(status: Int(response.status.code), body: body).error(at: url)
        }
        return Array(body.readableBytesView)
    }

    /// Lets go of all connections.
    func close() async {
        try? await client.shutdown()
    }
}
