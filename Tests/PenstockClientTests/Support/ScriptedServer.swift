import NIOCore
import NIOPosix
import PenstockCore
import PenstockTestKit
import PenstockWire

/// A server of HTTP that answers each request with bytes of the test's own, as a proxy or a broken server might.
final class ScriptedServer: Sendable {
    /// A request, as it came.
    struct Request: Sendable {
        var path: String
        /// The number of its connection: 1 for the first.
        var connection: Int
    }

    let port: Int
    private let channel: any Channel

    /// Starts a server.
    ///
    /// - Parameter answer: what is sent back, head and body.
    static func start(_ answer: @escaping @Sendable (Request) -> [UInt8]) async throws -> ScriptedServer {
        let connections = Tally()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(answer, connections.add()))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        guard let port = channel.localAddress?.port else { throw PenstockError(.storage, "There is no port.") }
        return ScriptedServer(channel, port)
    }

    private init(_ channel: any Channel, _ port: Int) {
        (self.channel, self.port) = (channel, port)
    }

    var url: String { "http://127.0.0.1:\(port)" }

    func stop() async throws { try await channel.close() }

    /// A whole response.
    static func response(status: Int = 200, type: String = WireFormat.contentType, _ body: [UInt8]) -> [UInt8] {
        head(status, type: type, length: body.count) + body
    }

    /// A head that announces a body.
    static func head(_ status: Int = 200, type: String = WireFormat.contentType, length: Int) -> [UInt8] {
        Array("HTTP/1.1 \(status) Told\r\nContent-Type: \(type)\r\nContent-Length: \(length)\r\n\r\n".utf8)
    }

    /// What a server answers to a client that comes.
    static var greeting: [UInt8] {
        var writer = WireWriter()
        writer(RingAnswer(isRung: true, ring: 1, server: 1, lookInterval: .seconds(1), store: nil))
        return response(writer.bytes)
    }
}

/// Takes requests apart, as far as a test needs that.
private final class Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: @Sendable (ScriptedServer.Request) -> [UInt8]
    private var bytes: [UInt8] = []
    private let connection: Int

    init(_ answer: @escaping @Sendable (ScriptedServer.Request) -> [UInt8], _ connection: Int) {
        self.answer = answer
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        // A client that speaks TLS is told that nobody here does.
        if bytes.first == 0x16 { return context.close(promise: nil) }
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst("content-length: ".count)) }
        guard let length, bytes[end.upperBound...].count >= length else { return }
        let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        bytes = []
        let answer = answer(ScriptedServer.Request(path: path, connection: connection))
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
    }
}
