import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Looks after one connection: says when its client is gone, and ends it when the client takes too long, or asks for the last time.
/// It also says why what has come is no request.
///
/// A connection may be held for nothing in three ways: nothing comes while a request is awaited or read, a body comes byte by byte, and an
/// answer is never read. Hummingbird ends the first by itself, but does not see the requests that ``CoalescingHandler`` takes.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long a connection is kept on which nothing comes, though something is to come.
    static let idleTime = TimeAmount.seconds(75)
    /// How long a request may come, from its head to its end.
    static let requestTime = TimeAmount.minutes(5)
    /// How long a client may read nothing of an answer while some of it waits.
    static let unreadTime = TimeAmount.seconds(60)

    private var presence: ClientPresence?
    private let connections: OpenConnections
    private let idleTime: TimeAmount
    private let requestTime: TimeAmount
    private let unreadTime: TimeAmount
    private var isReading = false
    private var unanswered = UnansweredRequests()
    /// Whether a request came whose body cannot be read.
    private var isBroken = false
    /// Why what came last is no request; `nil`: it is one.
    private var refusal: Problem?
    private var lastTime = NIODeadline.uptimeNanoseconds(0)
    private var idleEnd: Scheduled<Void>?
    private var requestEnd: Scheduled<Void>?
    private var unreadEnd: Scheduled<Void>?

    init(
        _ connections: OpenConnections, idleTime: TimeAmount = ConnectionWatch.idleTime,
        requestTime: TimeAmount = ConnectionWatch.requestTime, unreadTime: TimeAmount = ConnectionWatch.unreadTime
    ) {
        self.connections = connections
        self.idleTime = idleTime
        self.requestTime = requestTime
        self.unreadTime = unreadTime
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.add(context.channel)
        try? context.pipeline.syncOperations.addHandler(WritesBeforeClose(), position: .first)
        Self.addBehindDecoder([MessageFraming(), BodyInvitation()], of: context.pipeline)
        presence = ClientPresence(of: context.channel)
        lastTime = context.eventLoop.now
        endWhenIdle(context, at: lastTime + idleTime)
    }

    /// Puts handlers next to the decoder: those behind it are not told the version of HTTP.
    private static func addBehindDecoder(_ handlers: [any ChannelHandler], of pipeline: ChannelPipeline) {
        let pipeline = pipeline.syncOperations
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandlers(handlers, position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var data = data
        lastTime = context.eventLoop.now
        switch unwrapInboundIn(data) {
        case .head(var head):
            isReading = true
            unanswered.came()
            if Self.isLast(head) {
                head.headerFields[.connection] = "close"
                data = wrapInboundOut(.head(head))
            }
        case .body: break
        case .end:
            isReading = false
            requestEnd?.cancel()
            requestEnd = nil
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests have come whole by now, and need no clock.
        if isReading, requestEnd == nil {
            requestEnd = context.eventLoop.assumeIsolated().scheduleTask(in: requestTime) {
                context.close(promise: nil)
            }
        }
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isBroken, unanswered.count == 0 {
            // A client that keeps the connection, as a proxy does, would take a second answer for that to its next request.
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head) where unanswered.count == 0:
            writeRefusal(context, insteadOf: head, promise)
        case .head(var head) where isBroken && unanswered.count == 1:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            unanswered.answered()
            lastTime = context.eventLoop.now
            context.write(data, promise: promise)
        default: context.write(data, promise: promise)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Hummingbird answers it, though another answer may be on its way already, and then closes this side of the connection.
        if isReading {
            isBroken = true
        } else if error is HTTPParserError {
            refusal = Problem(known: error)
        }
        context.fireErrorCaught(error)
    }

    /// Hummingbird answers what is no request with an empty body, which tells nobody what to change.
    private func writeRefusal(
        _ context: ChannelHandlerContext, insteadOf head: HTTPResponse, _ promise: EventLoopPromise<Void>?
    ) {
        guard let refusal else { return context.write(wrapOutboundOut(.head(head)), promise: promise) }
        let body = ByteBuffer(json: refusal.json)
        var head = head
        head.status = refusal.status
        refusal.describe(in: &head.headerFields)
        head.headerFields[.contentLength] = String(body.readableBytes)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        unreadEnd?.cancel()
        unreadEnd = nil
        if !context.channel.isWritable {
            endWhenUnread(context, bytes: Self.unreadBytes(context), since: context.eventLoop.now)
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { presence?.end() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end(context) }

    /// Whether nothing is read of the connection after this request: its client says so, or asks for another protocol. The server
    /// speaks no other, and SwiftNIO takes what comes next for that protocol's.
    private static func isLast(_ head: HTTPRequest) -> Bool {
        if head.method == .connect { return true }
        let options = head.headerFields[values: .connection].flatMap { $0.lowercased().split(separator: ",") }
        return options.contains { option in
            switch option.filter({ $0 != " " && $0 != "\t" }) {
            case "close": true
            case "upgrade": head.headerFields[.upgrade] != nil
            default: false
            }
        }
    }

    /// Closes the connection at that time, if nothing has come by then. One clock runs for all its requests.
    ///
    /// - Parameter bytes: of an answer that is written there have to be fewer left: a client that reads on is not idle.
    private func endWhenIdle(_ context: ChannelHandlerContext, at deadline: NIODeadline, unlessBelow bytes: Int = .max)
    {
        idleEnd = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            let (now, left) = (context.eventLoop.now, Self.unreadBytes(context))
            if unanswered.count > 0, !isReading {
                endWhenIdle(context, at: now + idleTime)
            } else if left > 0, left < bytes {
                lastTime = now
                endWhenIdle(context, at: now + idleTime, unlessBelow: left)
            } else if now < lastTime + idleTime {
                endWhenIdle(context, at: lastTime + idleTime)
            } else {
                context.close(promise: nil)
            }
        }
    }

    /// Closes the connection when so many bytes wait since that time, and none of them is read for as long as may be. It is
    /// looked at several times, as the system takes some of them at first.
    private func endWhenUnread(_ context: ChannelHandlerContext, bytes: Int, since start: NIODeadline) {
        let step = TimeAmount.nanoseconds(unreadTime.nanoseconds / 5)
        unreadEnd = context.eventLoop.assumeIsolated().scheduleTask(in: step) { [self] in
            let (left, now) = (Self.unreadBytes(context), context.eventLoop.now)
            // A large answer takes its time where a line is slow.
            if left < bytes {
                endWhenUnread(context, bytes: left, since: now)
            } else if now - start < unreadTime {
                endWhenUnread(context, bytes: bytes, since: start)
            } else {
                context.close(promise: nil)
            }
        }
    }

    /// Bytes that wait for the client to read.
    static func unreadBytes(_ context: ChannelHandlerContext) -> Int {
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    private func end(_ context: ChannelHandlerContext) {
        connections.remove(context.channel)
        idleEnd?.cancel()
        requestEnd?.cancel()
        unreadEnd?.cancel()
        presence?.close()
    }
}
