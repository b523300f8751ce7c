import HTTPTypes
package import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockWire

/// `POST /v1/store`: a call of the store by a Swift program elsewhere, for which this server's store is its own (PenstockClient).
///
/// The body is no JSON, and no other language is meant to write it: both sides are of one release, or it is refused.
package struct StoreCalling: Sendable {
    let store: PenstockStore
    let served: ServedStore
    let isReadOnly: Bool
    private let table = StoreCallTable()

    /// Bytes of a call that changes nothing. The largest one names as many messages as a list may have.
    private static let lookBytesMax = 4 * 1024 * 1024

    /// Whether the request may change nothing though its method could. The call says so itself, and is asked when it has been read.
    package static func isAskedFor(_ request: Request) -> Bool {
        request.uri.path == WireFormat.callPath || request.uri.path == WireFormat.ringPath
    }

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("store", use: call)
    }

    @Sendable private func call(_ request: Request, _ context: ServerContext) async throws -> Response {
        do {
            return try await answer(request, context)
        } catch let error as PenstockError {
            throw Problem(error, advice: .command)
        }
    }

    private func answer(_ request: Request, _ context: ServerContext) async throws -> Response {
        try Self.checkVersion(of: request)
        try await served.requireOpened(by: request)
        var reader = try await reader(of: request, by: context.principal)
        guard let entry = table[try reader()] else { throw PenstockError.noWireValue }
        if isReadOnly, !entry.isReading { throw Self.readOnly }
        let answer = try await entry.carryOut(StoreCaller(store: store, principal: context.principal), &reader)
        try await context.requireClient(for: answer.leases, of: store)
        if answer.leases.isEmpty { return Self.response(answer.bytes) }
        return Self.response(
            .handingOver(answer.leases, of: store, ByteBuffer(bytes: answer.bytes), on: context.eventLoop))
    }

    private static let readOnly = PenstockError(
        .readOnly, "This server was started with --read-only, and changes nothing.")

    /// What was sent. Nothing large is read of somebody who can only look: he may not do it anyway.
    private func reader(of request: Request, by principal: Principal) async throws -> WireReader {
        if !isReadOnly, [Scope.produce, .consume, .operate].contains(where: principal.scopes.contains) {
            return try await Self.reader(of: request, bytesMax: WireFormat.requestBytesMax)
        }
        do {
            return try await Self.reader(of: request, bytesMax: Self.lookBytesMax)
        } catch let problem as Problem where problem.status == .contentTooLarge {
            if isReadOnly { throw Self.readOnly }
            try principal.require(.produce)
            throw problem
        }
    }

    /// What was sent.
    static func reader(of request: Request, bytesMax: Int) async throws -> WireReader {
        let body = try await request.wholeBody(bytesMax: bytesMax)
        return WireReader(Array(body.readableBytesView), isFromStore: false)
    }

    /// An answer for a client.
    static func response(_ bytes: [UInt8]) -> Response { response(ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))) }

    private static func response(_ body: ResponseBody) -> Response {
        Response(status: .ok, headers: [.contentType: WireFormat.contentType], body: body)
    }

    /// Throws a problem with status 415 when the client is of another release.
    static func checkVersion(of request: Request) throws(Problem) {
        guard request.headers[.contentType] != WireFormat.contentType else { return }
        throw Problem(
            .unsupportedMediaType, code: "wrongRelease",
            "This server and its client are of different releases of Penstock, or the client is another program; use the JSON API, or the same release on both sides."
        )
    }
}
