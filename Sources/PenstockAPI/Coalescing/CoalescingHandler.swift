import HTTPTypes
import Hummingbird
package import NIOCore
package import NIOHTTPTypes
import PenstockHTTP

/// Takes the requests of one connection that are carried out with those of others, and lets all else pass.
///
/// Answers leave a connection in the order of its requests. So a request is taken only when all before it are answered, and what comes
/// while one is taken is held until its answer is on its way.
package final class CoalescingHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private enum State {
        /// What comes passes: nothing has, or a request that is not taken, or its end.
        case passing
        /// A request is taken, and its body comes.
        case taking(CoalescedEnqueuing.Call, body: ByteBuffer)
        /// A request is taken, and its answer is not there yet, or the client reads too slowly for one more.
        case answering
    }

    /// What has come while a request is taken.
    private enum Held {
        case part(HTTPRequestPart)
        case event(Any)
        case error(any Error)
    }

    private let coalescing: Coalescing
    private var state = State.passing
    /// Requests that have passed and are not answered yet.
    private var passedCount = 0
    private var held: [Held] = []
    private var isReadHeld = false
    /// Whether the answer to the request that is taken is written.
    private var isAnswered = false
    private var start = ContinuousClock.now
    /// The last request that was taken, and what it asked for: a producer asks for the same again and again.
    private var last: (head: HTTPRequest, call: CoalescedEnqueuing.Call)?
    private var connection: (context: ChannelHandlerContext, coalescer: Coalescer)?
    /// What each request carries; made with the first one, as a connection has no address before it is open.
    private var template: ServerContext?

    package init(_ coalescing: Coalescing) {
        self.coalescing = coalescing
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        connection = (context, coalescing.coalescer(of: context.eventLoop))
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        connection = nil
    }

    // MARK: What comes

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .passing = state else { return hold(unwrapInboundIn(data)) }
        if case .head(let head) = unwrapInboundIn(data) {
            if passedCount == 0, let call = call(head, context.channel) {
                start = .now
                state = .taking(call, body: ByteBuffer())
                return
            }
            passedCount += 1
        }
        context.fireChannelRead(data)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .passing = state else { return held.append(.event(event)) }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch state {
        case .passing: context.fireErrorCaught(error)
        case .taking:
            // The request will never be whole.
            state = .passing
            release(context)
            context.fireErrorCaught(error)
        case .answering: held.append(.error(error))
        }
    }

    package func read(context: ChannelHandlerContext) {
        if case .answering = state, !held.isEmpty {
            isReadHeld = true
        } else {
            context.read()
        }
    }

    private func hold(_ part: HTTPRequestPart) {
        switch (state, part) {
        case (.taking(let call, var body), .body(let bytes)):
            state = .answering
            if body.readableBytes == 0 { body = bytes } else { body.writeImmutableBuffer(bytes) }
            state = .taking(call, body: body)
        case (.taking(let call, let body), .end):
            state = .answering
            connection?.coalescer.add(call, body, of: self)
        default: held.append(.part(part))
        }
    }

    /// What the request asks for, when it is one to take.
    private func call(_ head: HTTPRequest, _ channel: any Channel) -> CoalescedEnqueuing.Call? {
        guard head.method == .post,
            let length = head.headerFields[.contentLength].flatMap({ Int($0) }),
            length <= CoalescedEnqueuing.bodyBytesMax,
            Self.oddFields.allSatisfy({ head.headerFields[$0] == nil })
        else { return nil }
        if let last, Self.asksForTheSame(head, as: last.head) { return last.call }
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        var context = template ?? ServerContext(source: .init(channel: channel, logger: coalescing.logger))
        template = context
        guard coalescing.checks.refusal(of: request, &context) == nil else { return nil }
        let call = coalescing.enqueuing.call(request, context)
        // A token may be taken back meanwhile, and what options say may depend on the time.
        let isKept =
            !coalescing.asksForTokens
            && !head.headerFields.contains { $0.name.canonicalName.hasPrefix("penstock-") }
        last = isKept ? call.map { (head, $0) } : nil
        return call
    }

    /// Whether two heads are the same but for the length of the body.
    private static func asksForTheSame(_ head: HTTPRequest, as other: HTTPRequest) -> Bool {
        guard isSame(head.path, other.path), isSame(head.authority, other.authority),
            head.headerFields.count == other.headerFields.count
        else { return false }
        return zip(head.headerFields, other.headerFields).allSatisfy { field, other in
            field.name == other.name && (field.name == .contentLength || isSame(field.value, other.value))
        }
    }

    /// Byte for byte: Swift takes texts for equal that Unicode writes in two ways.
    private static func isSame(_ text: String?, _ other: String?) -> Bool {
        guard let text, let other else { return text == nil && other == nil }
        return text.utf8.elementsEqual(other.utf8)
    }

    /// Headers by which a connection or a body is handled in its own way, and the one of another protocol's requests to any path.
    private static let oddFields: [HTTPField.Name] = [
        .connection, .expect, .transferEncoding, .upgrade, .amazonTarget,
    ]

    // MARK: What goes

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // What is no request at all is answered as well.
        if case .end = unwrapOutboundIn(data) { passedCount = max(0, passedCount - 1) }
        context.write(data, promise: promise)
    }

    /// Sends the answer to the request that is taken. The client may be gone.
    func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        guard let context = connection?.context else { return }
        coalescing.record(CoalescedEnqueuing.path, head.status, start.duration(to: .now))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        isAnswered = true
        goOn(context)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        goOn(context)
        context.fireChannelWritabilityChanged()
    }

    /// Takes the next request when the last one is answered, unless answers wait for a client that does not read them.
    private func goOn(_ context: ChannelHandlerContext) {
        guard isAnswered, context.channel.isWritable else { return }
        isAnswered = false
        state = .passing
        release(context)
    }

    /// Lets what was held come now, up to and without what follows the next request that is taken.
    private func release(_ context: ChannelHandlerContext) {
        guard !held.isEmpty || isReadHeld else { return }
        let waiting = held
        held = []
        for (index, next) in waiting.enumerated() {
            if case .answering = state {
                held += waiting[index...]
                break
            }
            switch next {
            case .part(let part): channelRead(context: context, data: wrapInboundOut(part))
            case .event(let event): userInboundEventTriggered(context: context, event: event)
            case .error(let error): errorCaught(context: context, error: error)
            }
        }
        context.fireChannelReadComplete()
        if case .answering = state { return }
        if isReadHeld { context.read() }
        isReadHeld = false
    }
}
