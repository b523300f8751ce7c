import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
    /// The request, with the client told to send the body once somebody begins to read it, if it waits for that.
    func inviting(by context: ServerContext) -> Request {
        if headers[.expect] == nil { return self }
        var request = self
        request.body = RequestBody(asyncSequence: InvitedBody(body: body, channel: context.channel))
        return request
    }
}

/// The body of a request that its client may be waiting to send.
private struct InvitedBody: AsyncSequence, Sendable {
    let body: RequestBody
    let channel: any Channel

    func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator(), channel: channel) }

    struct Iterator: AsyncIteratorProtocol {
        var body: RequestBody.AsyncIterator
        /// `nil` once the client was told.
        var channel: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            channel?.triggerUserOutboundEvent(BodyInvitation.BodyIsRead(), promise: nil)
            channel = nil
            return try await body.next()
        }
    }
}
