package import PenstockCore
import PenstockProcesses

/// What calls gave that another process has carried out, from the first one on.
package struct PostedAnswer {
    /// What each gave. There are fewer than calls when one of them was refused: its own process carries that one out.
    var receipts: [[Receipt]]

    /// The bytes of an answer to `calls`, of which the first ones gave `receipts`.
    package static func bytes(of receipts: [[Receipt]], to calls: [PostedCall]) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: byteCountMax, alignment: 8) { memory in
            var writer = ByteWriter(memory)
            writer.write(UInt32(receipts.count))
            for (some, call) in zip(receipts, calls) {
                writer.write(call.durability.code)
                writer.write(UInt32(some.count))
                for receipt in some { receipt.write(to: &writer) }
            }
            return Array(memory[..<writer.count])
        }
    }

    /// Thirty-two calls of a message each take 22 bytes each.
    private static let byteCountMax = 1024

    /// Reads what ``bytes(of:to:)`` made.
    init(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        receipts = []
        for _ in 0..<min(reader.integer(UInt32.self) ?? 0, UInt32(PostedCall.messagesMax)) {
            guard let durability = reader.integer(UInt8.self).flatMap(Durability.init(code:)),
                let count = reader.integer(UInt32.self)
            else { break }
            var some: [Receipt] = []
            for _ in 0..<min(count, UInt32(PostedCall.messagesMax)) {
                guard let receipt = Receipt(from: &reader, durability: durability) else { return }
                some.append(receipt)
            }
            receipts.append(some)
        }
    }
}

extension Receipt {
    /// The states by their codes; the first ones are those that a message can be in as it is accepted.
    private static let states: [MessageState] = [
        .ready, .dropped, .blocked, .scheduled, .pending, .leased, .done, .dead, .cancelled,
    ]

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(sequence.rawValue)
        writer.write(UInt8(state.flatMap { Self.states.firstIndex(of: $0) } ?? 0))
        writer.write(displaced?.rawValue ?? 0)
    }

    fileprivate init?(from reader: inout ByteReader, durability: Durability) {
        guard let sequence = reader.integer(Int64.self),
            let code = reader.integer(UInt8.self).map(Int.init), Self.states.indices.contains(code),
            let displaced = reader.integer(Int64.self)
        else { return nil }
        self.init(
            sequence: SequenceNumber(sequence), state: Self.states[code], durability: durability,
            displaced: displaced == 0 ? nil : SequenceNumber(displaced))
    }
}
