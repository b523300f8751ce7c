import PenstockCore
import PenstockProcesses
import Testing

@testable import PenstockPostgres

/// What the server passes on to other machines.
@Suite struct RingPayloadTests {
    /// A payload that is too long is refused with all that is in it, and would be again whenever it is sent.
    @Test func ringsForManyQueuesTakeSeveralPayloads() {
        let rings = (0..<RingBucket.count).map { bucket in
            (bucket, Ring(messages: .max - bucket, tag: UInt16.max - UInt16(bucket)))
        }
        let mark = " 0123456789abcdef:"
        let payloads = ServerBell.payloads(of: Dictionary(uniqueKeysWithValues: rings), mark)
        #expect(payloads.count > 1)
        #expect(payloads.allSatisfy { $0.hasPrefix(mark) && $0.utf8.count <= ServerBell.payloadBytesMax })
        let heard = payloads.flatMap { payload in
            payload.dropFirst(mark.count).split(separator: ",").compactMap { Ring.decoded($0) }
        }
        #expect(heard.map(\.bucket).sorted() == Array(0..<RingBucket.count))
        #expect(heard.allSatisfy { $0.ring.tag == UInt16.max - UInt16($0.bucket) })
        #expect(ServerBell.payloads(of: [7: Ring(messages: 3, tag: 5)], mark) == [mark + "7w3.5"])
    }
}
