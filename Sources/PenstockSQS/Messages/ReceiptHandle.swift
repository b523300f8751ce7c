import Crypto
import Foundation
import PenstockCore

/// What a client shows of a message that it has received: the claim, and which attempt that was.
///
/// The token in it is what fences; the digest only tells a handle from other text, and the handle of one queue, and of one store, from
/// another's: in a store to which the queues have moved, its number may be another message's. Anybody can make such a digest: where
/// the store knows the token no more, the handle proves nothing.
struct ReceiptHandle: Equatable, Sendable {
    var lease: Lease
    /// The attempt that the claim began. As long as it is the message's last one, nobody has claimed it anew.
    var attempt: Int

    init(lease: Lease, attempt: Int) {
        self.lease = lease
        self.attempt = attempt
    }

    /// Where a handle is good.
    struct Place: Sendable {
        var queue: QueueName
        /// `nil`: the store has no identity.
        var store: StoreID?
    }

    /// Reads a handle of `place`; `nil` when it is none.
    init?(_ text: String, of place: Place) {
        guard text.utf8.count <= 64, let bytes = Data(base64Encoded: text).map(Array.init), bytes.count == 32,
            Self.digest(bytes[..<24], place) == Array(bytes[24...])
        else { return nil }
        func number(_ index: Int) -> Int64 {
            bytes[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | Int64($1) }
        }
        guard number(0) > 0, let attempt = Int(exactly: number(2)) else { return nil }
        lease = Lease(sequence: SequenceNumber(number(0)), token: LeaseToken(rawValue: number(1)))
        self.attempt = attempt
    }

    func text(of place: Place) -> String {
        var bytes: [UInt8] = []
        for number in [lease.sequence.rawValue, lease.token.rawValue, Int64(attempt)] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
            }
        }
        return Data(bytes + Self.digest(bytes[...], place)).base64EncodedString()
    }

    private static func digest(_ bytes: ArraySlice<UInt8>, _ place: Place) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array(bytes))
        hash.update(data: Array(place.queue.text.utf8))
        // No name of a queue has a zero byte.
        hash.update(data: [0] + Array((place.store?.rawValue ?? "").utf8))
        return Array(hash.finalize().prefix(8))
    }
}
