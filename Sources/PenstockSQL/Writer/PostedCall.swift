package import PenstockCore
package import PenstockProcesses

/// A call that another process may carry out: an enqueue of a few small messages without unique keys.
package struct PostedCall: Sendable {
    package let queue: QueueName
    package let messages: [NewMessage]
    package let durability: Durability

    /// How many messages a process hands over at once, and how many calls. More are worth a transaction of their own.
    package static let messagesMax = 32

    /// `nil` when the call is one that a process carries out itself: with unique keys, replays or many messages.
    package init?(_ messages: [NewMessage], to queue: QueueName, durability: Durability) {
        guard messages.count <= Self.messagesMax else { return nil }
        guard messages.allSatisfy({ $0.uniqueKey == nil && $0.origin == nil }) else { return nil }
        (self.queue, self.messages, self.durability) = (queue, messages, durability)
    }

    /// It as the operation takes it.
    var call: Enqueue.Call { (queue, messages, durability) }

    // MARK: On the way to another process

    /// Writes as many of `calls` as have room, the first ones.
    ///
    /// - Returns: how many that were.
    package static func write(_ calls: [PostedCall], to writer: inout ByteWriter) -> Int {
        if calls.isEmpty { return 0 }
        writer.write(UInt32(0))
        var (count, messageCount) = (0, 0)
        for call in calls {
            let end = writer.count
            messageCount += call.messages.count
            call.write(to: &writer)
            if writer.isOver || messageCount > messagesMax {
                writer.goBack(to: end)
                break
            }
            count += 1
        }
        let end = writer.count
        writer.goBack(to: 0)
        writer.write(UInt32(count))
        writer.goBack(to: end)
        return count
    }

    private func write(to writer: inout ByteWriter) {
        writer.write(durability.code)
        writer.write(queue.text.utf8)
        writer.write(UInt32(messages.count))
        for message in messages {
            writer.write(Int32(message.priority))
            writer.write(Int32(message.attemptsMax ?? 0))
            writer.write((HeaderText.encode(message.headers) ?? "").utf8)
            writer.write(message.payload)
            message.writeWaiting(to: &writer)
        }
    }

    /// Reads what ``write(_:to:)`` wrote, up to the first that is anything else, or that no process may enqueue.
    package static func read(_ bytes: [UInt8], now: Timestamp) -> [PostedCall] {
        var reader = ByteReader(bytes)
        var calls: [PostedCall] = []
        for _ in 0..<min(reader.integer(UInt32.self) ?? 0, UInt32(messagesMax)) {
            guard let call = PostedCall(from: &reader, now: now) else { break }
            calls.append(call)
        }
        return calls
    }

    private init?(from reader: inout ByteReader, now: Timestamp) {
        guard let durability = reader.integer(UInt8.self).flatMap(Durability.init(code:)), let name = reader.bytes(),
            let queue = try? QueueName(String(decoding: name, as: UTF8.self)),
            let count = reader.integer(UInt32.self), count <= Self.messagesMax
        else { return nil }
        var messages: [NewMessage] = []
        for _ in 0..<count {
            guard let priority = reader.integer(Int32.self), let attemptsMax = reader.integer(Int32.self),
                let headers = reader.bytes(), let payload = reader.bytes()
            else { return nil }
            var message = NewMessage(
                payload: payload,
                headers: headers.isEmpty ? [:] : HeaderText.decode(String(decoding: headers, as: UTF8.self)),
                priority: Int(priority), attemptsMax: attemptsMax == 0 ? nil : Int(attemptsMax))
            guard message.readWaiting(from: &reader) else { return nil }
            messages.append(message)
        }
        guard (try? NewMessage.validate(batch: messages, now: now)) != nil else { return nil }
        self.init(messages, to: queue, durability: durability)
    }
}

/// What makes a message wait: a byte that says what there is of it, and that.
extension NewMessage {
    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let group = Parts(rawValue: 1)
        static let dueAfter = Parts(rawValue: 2)
        static let dueAt = Parts(rawValue: 4)
        static let expiresAfter = Parts(rawValue: 8)
        static let expiresAt = Parts(rawValue: 16)
        static let all: Parts = [.group, .dueAfter, .dueAt, .expiresAfter, .expiresAt]
    }

    fileprivate func writeWaiting(to writer: inout ByteWriter) {
        var parts: Parts = group == nil ? [] : .group
        var times: [Int64] = []
        switch due {
        case .now: break
        case .after(let delay): (parts, times) = (parts.union(.dueAfter), [delay.wholeMicroseconds])
        case .at(let moment): (parts, times) = (parts.union(.dueAt), [moment.microseconds])
        }
        switch expiry {
        case nil: break
        case .after(let time): (parts, times) = (parts.union(.expiresAfter), times + [time.wholeMicroseconds])
        case .at(let moment): (parts, times) = (parts.union(.expiresAt), times + [moment.microseconds])
        }
        writer.write(parts.rawValue)
        if let group { writer.write(group.utf8) }
        for time in times { writer.write(time) }
    }

    /// - Returns: whether it could be read.
    fileprivate mutating func readWaiting(from reader: inout ByteReader) -> Bool {
        guard let parts = reader.integer(UInt8.self).map(Parts.init), parts.isSubset(of: .all) else { return false }
        if parts.contains(.group) {
            guard let key = reader.bytes() else { return false }
            group = String(decoding: key, as: UTF8.self)
        }
        for part in [Parts.dueAfter, .dueAt, .expiresAfter, .expiresAt] where parts.contains(part) {
            guard let time = reader.integer(Int64.self) else { return false }
            switch part {
            case .dueAfter: due = .after(.microseconds(time))
            case .dueAt: due = .at(Timestamp(microseconds: time))
            case .expiresAfter: expiry = .after(.microseconds(time))
            default: expiry = .at(Timestamp(microseconds: time))
            }
        }
        return true
    }
}

extension Durability {
    /// As it is written for another process.
    package var code: UInt8 { self == .powerLoss ? 1 : 0 }

    package init?(code: UInt8) {
        switch code {
        case 0: self = .processCrash
        case 1: self = .powerLoss
        default: return nil
        }
    }
}
