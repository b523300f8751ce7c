import NIOCore
import NIOHTTP1

/// Refuses requests of whose end, or of whose host, two programs may think differently, and ends each answer as the version of HTTP
/// that the client speaks has it.
///
/// - A body comes as its length says, or in chunks. One that was changed on its way in another manner (`Transfer-Encoding: gzip, chunked`)
///   would be taken for what it is not (RFC 9112, 6.1).
/// - A request says once which host it is meant for (RFC 9112, 3.2), or not at all: where names count, ``HostCheck`` asks for one, and
///   clients at a socket of this machine have none to say.
/// - A client of HTTP/1.0 knows no chunks: the end of its connection is the end of the answer.
/// - The answer to HEAD ends with its head, also where that says that the answer to GET comes in chunks (RFC 9112, 6.3).
///
/// SwiftNIO's decoder refuses a request that has a length and chunks.
final class MessageFraming: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Whether a request was refused: what comes after it may be its body, or another one.
    private var isOver = false
    /// Whether the last request that came is one of HTTP/1.0, after which nothing is read.
    private var isOld = false
    private var unanswered = UnansweredRequests()
    /// Whether the answer that is written is one to HEAD that says so: of others the encoder behind this says that they come in chunks.
    private var endsWithHead = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard Self.isSound(head) else {
            isOver = true
            return context.fireErrorCaught(HTTPParserError.unknown)
        }
        unanswered.came()
        if head.version != .http1_1 {
            isOld = true
            head.headers.replaceOrAdd(name: "connection", value: "close")
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            endsWithHead = head.headers.contains(name: "transfer-encoding")
            // Hummingbird says of a body that is written as it comes that it has no bytes, and once more behind all middleware.
            if endsWithHead { head.headers.remove(name: "content-length") }
            guard isOld, unanswered.count <= 1 else {
                return context.write(wrapOutboundOut(.head(head)), promise: promise)
            }
            head.version = .http1_0
            head.headers.replaceOrAdd(name: "connection", value: "close")
            head.headers.remove(name: "transfer-encoding")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            unanswered.answered()
            // The encoder would write a last chunk for the end.
            let part = endsWithHead ? wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))) : data
            context.write(part, promise: promise)
        default: context.write(data, promise: promise)
        }
    }

    private static func isSound(_ head: HTTPRequestHead) -> Bool {
        guard head.headers["host"].count <= 1 else { return false }
        let codings = head.headers["transfer-encoding"]
        return codings.isEmpty || codings.count == 1 && codings[0].lowercased() == "chunked" && head.version == .http1_1
    }
}
