package import Hummingbird
package import Penstock
package import PenstockCore

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
        ResponseBody(contentLength: length) { writer in
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
}
