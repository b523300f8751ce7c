import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import PenstockHTTP

/// How long a connection is kept whose client does not do its part.
@Suite struct ConnectionWatchTests {
    private let post = HTTPRequestPart.head(.init(method: .post, scheme: "http", authority: "localhost", path: "/"))
    private let answer = HTTPResponsePart.head(.init(status: .ok))

    private struct Broken: Error {}

    private func channel(idle: TimeAmount = .hours(1)) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(
            handler: ConnectionWatch(
                OpenConnections(), idleTime: idle, requestTime: .seconds(10), unreadTime: .seconds(5)))
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        return channel
    }

    @Test func aBodyThatComesTooSlowlyEndsTheConnection() throws {
        let channel = try channel()
        try channel.writeInbound(post)
        for _ in 1...3 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(3))
            try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
            #expect(channel.isActive)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func aRequestThatHasComeIsNotTimed() throws {
        let channel = try channel(idle: .seconds(20))
        try channel.writeInbound(post)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test func aConnectionOnWhichNothingIsAskedForEnds() throws {
        let channel = try channel(idle: .seconds(20))
        for _ in 1...5 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(19))
            #expect(channel.isActive)
            try channel.writeInbound(post)
            try channel.writeInbound(HTTPRequestPart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(channel.isActive)
            try channel.writeOutbound(answer)
            try channel.writeOutbound(HTTPResponsePart.end(nil))
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func anAnswerThatIsNotReadEndsTheConnection() throws {
        let channel = try channel()
        for (isWritable, seconds, isActive) in [
            (false, 4, true), (true, 100, true), (false, 4, true), (false, 5, false),
        ] {
            if channel.isWritable != isWritable {
                channel.isWritable = isWritable
                channel.pipeline.fireChannelWritabilityChanged()
            }
            channel.embeddedEventLoop.advanceTime(by: .seconds(Int64(seconds)))
            #expect(channel.isActive == isActive)
        }
    }

    /// Whoever keeps the connection would take a second answer for that to its next request.
    @Test(arguments: [true, false]) func aRequestThatBreaksOffHasOneAnswer(isAnsweredBefore: Bool) throws {
        let channel = try channel()
        try channel.writeInbound(post)
        func answerIt() throws {
            try channel.writeOutbound(answer)
            try channel.writeOutbound(HTTPResponsePart.end(nil))
        }
        if isAnsweredBefore { try answerIt() }
        channel.pipeline.fireErrorCaught(Broken())
        #expect(throws: Broken.self) { try channel.throwIfErrorCaught() }
        if !isAnsweredBefore { try answerIt() }
        #expect(throws: (any Error).self) { try answerIt() }
        var heads: [HTTPResponse] = []
        while let part = try channel.readOutbound(as: HTTPResponsePart.self) {
            if case .head(let head) = part { heads.append(head) }
        }
        #expect(heads.count == 1)
        #expect(heads.first?.headerFields[.connection] == (isAnsweredBefore ? nil : "close"))
    }

    @Test func oneThatIsOverIsForgotten() throws {
        let channel = try channel()
        #expect(ClientPresence.of(channel)?.isGone == false)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(ClientPresence.of(channel)?.isGone == true)
        _ = try channel.finish()
        #expect(ClientPresence.of(channel) == nil)
    }
}
