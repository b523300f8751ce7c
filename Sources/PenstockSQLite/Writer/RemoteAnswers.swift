import PenstockCore
import PenstockProcesses
import PenstockSQL

/// What calls gave that another process has carried out, from the first one on.
struct RemoteAnswer {
    /// What each gave. There are fewer than calls when one of them was refused: its own process carries that one out.
    var receipts: [[Receipt]]

    /// The bytes of an answer to `calls`, of which the first ones gave `receipts`.
    static func bytes(of receipts: [[Receipt]], to calls: [RemoteCall]) -> [UInt8] {
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
        for _ in 0..<min(reader.integer(UInt32.self) ?? 0, UInt32(RemoteCall.messagesMax)) {
            guard let durability = reader.integer(UInt8.self).flatMap(Durability.init(code:)),
                let count = reader.integer(UInt32.self)
            else { break }
            var some: [Receipt] = []
            for _ in 0..<min(count, UInt32(RemoteCall.messagesMax)) {
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
        writer.write(UInt8(Self.states.firstIndex(of: state) ?? 0))
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

/// What another process has asked for, and this one carries out in a transaction of its own.
struct RemoteRequest {
    let taken: WriterSlots.Taken
    let calls: [RemoteCall]
    /// What they gave, once they are carried out.
    private(set) var answer: [UInt8] = []

    /// Takes what others have posted. To be called with the writer lock.
    ///
    /// - Parameter ownSlot: this store's own slot.
    static func taken(_ access: DatabaseAccess, besides ownSlot: Int?, at now: Timestamp) -> [RemoteRequest] {
        // Nothing is called durable once the disk has failed.
        guard access.sharesTransactions, access.flusher?.refusal == nil, let slots = access.writerLock.slots else {
            return []
        }
        return slots.take(besides: ownSlot).map { taken in
            RemoteRequest(taken: taken, calls: RemoteCall.read(taken.bytes, now: now))
        }
    }

    /// Whether the answer has to wait for the disk.
    var awaitsFlush: Bool { calls.contains { $0.durability == .powerLoss } }

    /// Carries out the calls up to the first that is refused, and writes down what they gave.
    mutating func perform(in transaction: Transaction) throws {
        let (slot, ticket) = (taken.slot, taken.ticket)
        // Damaged memory can offer a request again that was carried out. The database knows.
        if let known = try Answers.read(slot: slot, ticket: ticket, transaction.connection) {
            answer = known
            return
        }
        var receipts: [[Receipt]] = []
        do {
            try transaction.departure?.refuse(unless: .nothing)
            for call in calls {
                receipts.append(
                    try Enqueue.perform(call.messages, to: call.queue, durability: call.durability, in: transaction))
            }
        } catch let error as PenstockError where error.isRefusal {
            // Its own process asks again, and has the refusal for its answer.
        }
        answer = RemoteAnswer.bytes(of: receipts, to: calls)
        try Answers.write(answer, slot: slot, ticket: ticket, transaction.connection)
    }
}

/// What became of calls that a process has carried out for others: a row for each slot of ``WriterSlots``, written in the
/// transaction that carries them out. So each is carried out and answered, or neither, whatever dies when.
enum Answers {
    /// The row of a slot. Two releases may have the file open at once, and the slots of another layout are other slots.
    private static func row(of slot: Int) -> Int64 { Int64(WriterSlots.layout.version) << 32 | Int64(slot) }

    /// Writes down what the request `ticket` of `slot` gave.
    static func write(_ bytes: [UInt8], slot: Int, ticket: UInt64, _ connection: Connection) throws {
        try bytes.withUnsafeBytes { bytes in
            try connection.run(insert) { row in
                row.bind(Self.row(of: slot), at: 1)
                row.bind(Int64(ticket), at: 2)
                row.bind(uncopied: bytes, at: 3)
            }
        }
    }

    /// What the request `ticket` of `slot` gave; `nil` when it is not carried out, or not yet.
    static func read(slot: Int, ticket: UInt64, _ connection: Connection) throws -> [UInt8]? {
        try connection.first(select, .integer(row(of: slot)), .integer(Int64(ticket))) { try $0.bytes(0) }
    }

    private static let insert = Query(
        "INSERT OR REPLACE INTO penstock_answer (slot, ticket, receipts) VALUES (?1, ?2, ?3)")
    private static let select = Query("SELECT receipts FROM penstock_answer WHERE slot = ?1 AND ticket = ?2")
}
