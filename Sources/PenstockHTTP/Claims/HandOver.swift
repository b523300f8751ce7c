package import Hummingbird
package import NIOCore
package import Penstock
package import PenstockCore
import Synchronization

extension ResponseBody {
    /// A body that hands messages to a client. When it cannot be written, they are given back, and the attempt does not count.
    ///
    /// A client that knows how long the body is may close the connection as soon as it has all of it. So what comes after
    /// the last byte says nothing of whether the client has the messages, unless the client waits for it.
    ///
    /// - Parameters:
    ///   - leases: what is handed over.
    ///   - store: to which they are given back.
    ///   - length: how many bytes `write` writes; `nil`: the client learns at the end that this is all.
    ///   - write: writes them.
    package static func handingOver(
        _ leases: [Lease], of store: PenstockStore, length: Int?,
        _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> ResponseBody {
        let handOver = HandOver(leases, of: store)
        return ResponseBody(contentLength: length) { writer in
            handOver.begin()
            do {
                // Of an empty body the head is all, and the client has that by now.
                if length != 0 { try await write(&writer) }
                if length == nil { try await writer.finish(nil) }
            } catch {
                // Those that cannot be given back come back when their leases end.
                try? await store.giveBack(leases)
                throw error
            }
            if length != nil { try await writer.finish(nil) }
        }
    }

    /// The same where all of the body is there: `whole`.
    ///
    /// - Parameter loop: that of the client's connection.
    package static func handingOver(
        _ leases: [Lease], of store: PenstockStore, _ whole: ByteBuffer, on loop: any EventLoop
    ) -> ResponseBody {
        handingOver(leases, of: store, length: whole.readableBytes) { try await $0.write(inParts: whole, on: loop) }
    }

    /// Bytes of an answer with messages that are written at once.
    package static let partBytes = 256 * 1024
}

extension ResponseBodyWriter {
    /// Writes a part when the client has read those before it, so that it is noticed when the client reads no more.
    ///
    /// A write waits for nothing but what the connection's event loop has said before, and the loop says that the client is behind only when
    /// it comes to what was written. So the loop has its turn before the next part.
    ///
    /// - Parameters:
    ///   - loop: that of the connection.
    ///   - isLast: whether nothing comes behind these bytes. A client that knows how many there are may close then.
    package mutating func write(inParts bytes: ByteBuffer, on loop: any EventLoop, isLast: Bool = true) async throws {
        var rest = bytes
        while let part = rest.readSlice(length: min(rest.readableBytes, ResponseBody.partBytes)), part.readableBytes > 0
        {
            try await write(part)
            if rest.readableBytes > 0 || !isLast { try await loop.submit {}.get() }
        }
    }
}

/// Gives messages back whose body nobody has begun to write: a connection may end before the head of its response.
private final class HandOver: Sendable {
    private let leases: [Lease]
    private let store: PenstockStore
    private let hasBegun = Atomic(false)

    init(_ leases: [Lease], of store: PenstockStore) {
        self.leases = leases
        self.store = store
    }

    deinit {
        if hasBegun.load(ordering: .relaxed) { return }
        let (leases, store) = (leases, store)
        // Those that cannot be given back come back when their leases end.
        Task { try? await store.giveBack(leases) }
    }

    func begin() { hasBegun.store(true, ordering: .relaxed) }
}
