import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite struct HandOverTests {
    /// A connection whose client goes at some point.
    private struct Leaving: ResponseBodyWriter {
        var writes: Bool
        var finishes: Bool

        func write(_ buffer: ByteBuffer) async throws {
            if !writes { throw ChannelError.ioOnClosedChannel }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
            if !finishes { throw ChannelError.ioOnClosedChannel }
        }
    }

    /// A connection whose client goes when it has read so many parts.
    private struct LeavingLater: ResponseBodyWriter {
        var partsLeft: Int

        mutating func write(_ buffer: ByteBuffer) async throws {
            if partsLeft == 0 { throw ChannelError.ioOnClosedChannel }
            partsLeft -= 1
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    /// A store with a message that a remote worker has claimed.
    private func claimed() async throws -> (PenstockStore, Lease) {
        let store = PenstockStore(TestDatabase().open())
        let jobs = try await store.queue("jobs", of: [UInt8].self)
        try await jobs.enqueue(Array("hello".utf8))
        let request = ClaimRequest(
            queue: try QueueName("jobs"), limit: 1, lease: .seconds(30), remoteWorker: try WorkerName("far"))
        let lease = try #require(try await store.storage.claim(request).messages.first?.lease)
        return (store, lease)
    }

    /// A client may close the connection as soon as it has as many bytes as it was told of.
    @Test(arguments: [
        (length: 5, writes: true, finishes: true, isHeld: true),
        (length: 5, writes: true, finishes: false, isHeld: true),
        (length: 5, writes: false, finishes: true, isHeld: false),
        (length: 0, writes: false, finishes: false, isHeld: true),
        (length: nil, writes: true, finishes: true, isHeld: true),
        (length: nil, writes: true, finishes: false, isHeld: false),
        (length: nil, writes: false, finishes: true, isHeld: false),
    ])
    func whatTheClientHasIsItsOwn(length: Int?, writes: Bool, finishes: Bool, isHeld: Bool) async throws {
        let (store, lease) = try await claimed()
        let body = ResponseBody.handingOver([lease], of: store, length: length) {
            try await $0.write(ByteBuffer(string: "hello"))
        }
        do {
            try await body.write(Leaving(writes: writes, finishes: finishes))
            #expect(writes && finishes)
        } catch is ChannelError {
            #expect(!(writes && finishes))
        }
        #expect(try await store.storage.extend([lease], by: .seconds(30)) == [isHeld])
    }

    /// Written at once it would be the client's as soon as its first bytes are on their way.
    @Test(arguments: [(2, false), (3, true)])
    func aClientThatGoesInTheMiddleOfALongBodyHasNothing(parts: Int, isHeld: Bool) async throws {
        let (store, lease) = try await claimed()
        let whole = ByteBuffer(repeating: 0, count: 2 * ResponseBody.partBytes + 1)
        let body = ResponseBody.handingOver(
            [lease], of: store, whole, on: MultiThreadedEventLoopGroup.singleton.next())
        do {
            try await body.write(LeavingLater(partsLeft: parts))
            #expect(isHeld)
        } catch is ChannelError {
            #expect(!isHeld)
        }
        #expect(try await store.storage.extend([lease], by: .seconds(30)) == [isHeld])
    }

    /// A connection may end before the head of its answer can be written: then nobody asks for the body.
    @Test func whatIsNeverWrittenIsGivenBack() async throws {
        let (store, lease) = try await claimed()
        _ = ResponseBody.handingOver([lease], of: store, length: 5) { _ in }
        try await eventually { try await store.storage.extend([lease], by: .seconds(30)) == [false] }
    }
}
