import PenstockCore

/// A call that another process may carry out: an enqueue of a few small, plain messages.
struct Parcel: Sendable {
    let queue: QueueName
    let messages: [NewMessage]
    let durability: Durability

    /// How many messages a process hands over at once. More are worth a transaction of their own.
    static let messagesMax = 32

    /// `nil` when the call is one that a process carries out itself: with keys, due times or many messages.
    init?(_ messages: [NewMessage], to queue: QueueName, durability: Durability) {
        guard messages.count <= Self.messagesMax else { return nil }
        for message in messages {
            guard message.uniqueKey == nil, message.origin == nil, case .now = message.due else { return nil }
        }
        (self.queue, self.messages, self.durability) = (queue, messages, durability)
    }

    /// Writes the call.
    func write(to writer: inout ByteWriter) {
        writer.write(durability.code)
        writer.write(queue.text.utf8)
        writer.write(UInt32(messages.count))
        for message in messages {
            writer.write(Int32(message.priority))
            writer.write(Int32(message.attemptsMax ?? 0))
            writer.write((HeaderText.encode(message.headers) ?? "").utf8)
            writer.write(message.payload)
        }
    }

    /// Reads what ``write(to:)`` wrote; `nil` when it is anything else, or something that no process may enqueue.
    init?(from reader: inout ByteReader, now: Timestamp) {
        guard let durability = reader.integer(UInt8.self).flatMap(Durability.init(code:)), let name = reader.bytes(),
            let queue = try? QueueName(String(decoding: name, as: UTF8.self)),
            let count = reader.integer(UInt32.self), count <= Self.messagesMax
        else { return nil }
        var messages: [NewMessage] = []
        for _ in 0..<count {
            guard let priority = reader.integer(Int32.self), let attemptsMax = reader.integer(Int32.self),
                let headers = reader.bytes(), let payload = reader.bytes()
            else { return nil }
            messages.append(
                NewMessage(
                    payload: payload,
                    headers: headers.isEmpty ? [:] : HeaderText.decode(String(decoding: headers, as: UTF8.self)),
                    priority: Int(priority), attemptsMax: attemptsMax == 0 ? nil : Int(attemptsMax)))
        }
        guard (try? NewMessage.validate(batch: messages, now: now)) != nil else { return nil }
        self.init(messages, to: queue, durability: durability)
    }
}

extension Receipt {
    /// Writes the receipt of a message that was enqueued by a ``Parcel``.
    func write(to writer: inout ByteWriter) {
        writer.write(sequence.rawValue)
        writer.write(UInt8(state == .dropped ? 1 : 0))
        writer.write(displaced?.rawValue ?? 0)
    }

    /// Reads what ``write(to:)`` wrote.
    init?(from reader: inout ByteReader, durability: Durability) {
        guard let sequence = reader.integer(Int64.self), let isDropped = reader.integer(UInt8.self),
            let displaced = reader.integer(Int64.self)
        else { return nil }
        self.init(
            sequence: SequenceNumber(sequence), state: isDropped == 1 ? .dropped : .ready, durability: durability,
            displaced: displaced == 0 ? nil : SequenceNumber(displaced))
    }
}

extension Durability {
    /// As it is written in shared memory.
    var code: UInt8 { self == .powerLoss ? 1 : 0 }

    init?(code: UInt8) {
        switch code {
        case 0: self = .processCrash
        case 1: self = .powerLoss
        default: return nil
        }
    }
}
