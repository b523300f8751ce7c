import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Looks after one connection: says when its client is gone, and ends it when the client takes too long, or asks for the last time.
///
/// Hummingbird ends a connection on which nothing comes for a while, as long as a request is awaited or read. That leaves two ways
/// to hold one for ever: a body that comes byte by byte, and an answer that is never read.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// How long a request may come, from its head to its end.
    static let requestTime = TimeAmount.minutes(5)
    /// How long a client may leave an answer unread while more of it waits.
    static let unreadTime = TimeAmount.seconds(60)

    let presence = ClientPresence()
    private let connections: OpenConnections
    private let requestTime: TimeAmount
    private let unreadTime: TimeAmount
    private var isReading = false
    private var requestEnd: Scheduled<Void>?
    private var unreadEnd: Scheduled<Void>?

    init(
        _ connections: OpenConnections, requestTime: TimeAmount = ConnectionWatch.requestTime,
        unreadTime: TimeAmount = ConnectionWatch.unreadTime
    ) {
        self.connections = connections
        self.requestTime = requestTime
        self.unreadTime = unreadTime
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.add(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var data = data
        switch unwrapInboundIn(data) {
        case .head(var head):
            isReading = true
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
        if isReading, requestEnd == nil { requestEnd = close(context, after: requestTime) }
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        unreadEnd?.cancel()
        unreadEnd = context.channel.isWritable ? nil : close(context, after: unreadTime)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { presence.end() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        connections.remove(context.channel)
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(context.channel)
        end()
    }

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

    private func end() {
        requestEnd?.cancel()
        unreadEnd?.cancel()
        presence.end()
    }

    private func close(_ context: ChannelHandlerContext, after time: TimeAmount) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }
}
