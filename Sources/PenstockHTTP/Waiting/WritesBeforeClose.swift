import NIOCore

/// Lets what is written leave for the client before this side of the connection is closed.
///
/// SwiftNIO closes a whole connection whose client has closed its side, and throws away what waits: of a long answer, the client that says
/// that it asks for no more would get only the beginning.
final class WritesBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output, ConnectionWatch.unreadBytes(context) > 0 else {
            return context.close(mode: mode, promise: promise)
        }
        // A client that reads none of it is not waited for without an end: see ``ConnectionWatch``.
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
            context.close(mode: .output, promise: promise)
        }
    }
}
