import NIOCore
import NIOHTTP1

/// Tells a client that waits to be told so that it may send the body of its request (`Expect: 100-continue`, RFC 9110, 10.1.1).
///
/// It is told when somebody begins to read the body, so that a client that is refused sends none. What comes next on the connection of such a
/// refusal might be the body or another request, so it ends there.
final class BodyInvitation: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Somebody begins to read the body of the request that is answered next.
    struct BodyIsRead: Sendable {}

    private enum State {
        /// No client waits.
        case idle
        /// The client of the last request that came waits, and has sent nothing of the body.
        case waiting
        /// The answer that is written is the one to the client that waits.
        case refusing
    }

    private var state = State.idle
    private var unanswered = UnansweredRequests()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered.came()
            if case .refusing = state { break }
            state = Self.expectsInvitation(head) ? .waiting : .idle
        case .body, .end:
            // It waits no more, or there is no body.
            if case .waiting = state { state = .idle }
        }
        context.fireChannelRead(data)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is BodyIsRead else { return context.triggerUserOutboundEvent(event, promise: promise) }
        // All requests before it are answered, or their answers would come after this.
        if case .waiting = state, unanswered.count == 1 {
            state = .idle
            context.writeAndFlush(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
        }
        promise?.succeed()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch (unwrapOutboundIn(data), state) {
        case (.head(var head), .waiting) where unanswered.count == 1:
            state = .refusing
            head.headers.replaceOrAdd(name: "connection", value: "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case (.end, let current):
            unanswered.answered()
            context.write(data, promise: promise)
            guard case .refusing = current else { return }
            state = .idle
            context.flush()
            // What the client sends all the same is read: a close would take the answer from it.
            context.close(mode: .output, promise: nil)
        default: context.write(data, promise: promise)
        }
    }

    private static func expectsInvitation(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1 && head.headers.first(name: "expect")?.lowercased() == "100-continue"
    }
}
