import Crypto
import Foundation
import Hummingbird
import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Call {
    func sendMessage() async throws -> Response {
        let input = try input(SentMessage.self)
        let queue = try queue(input.QueueUrl, for: .produce)
        let settings = try await directory.settings(of: queue)
        let outgoing = try Outgoing(input, to: settings, now: directory.time.now)
        let receipts = try await store.enqueue([outgoing.message], to: queue, durability: .powerLoss)
        guard let receipt = receipts.first, receipt.wasSent else { throw Refusal.full(queue) }
        return .amazonJSON(.object(outgoing.answer(receipt, settings)))
    }

    func sendMessageBatch() async throws -> Response {
        let input = try input(BatchInput<SentMessage>.self)
        let queue = try queue(input.QueueUrl, for: .produce)
        let entries = try Batch.checked(input.Entries, \.Id)
        let settings = try await directory.settings(of: queue)
        let bytes = entries.reduce(0) {
            $0 + ($1.entry.MessageBody?.utf8.count ?? 0) + ($1.entry.MessageAttributes?.byteCount ?? 0)
        }
        guard bytes <= MessageBody.bytesMax else {
            throw Refusal(
                "BatchRequestTooLong",
                "Batch requests cannot be longer than \(MessageBody.bytesMax) bytes. You have sent \(bytes) bytes.")
        }
        var batch = Batch()
        var accepted: [(id: String, outgoing: Outgoing)] = []
        for (id, entry) in entries {
            do {
                accepted.append((id, try Outgoing(entry, to: settings, now: directory.time.now)))
            } catch {
                batch.fail(id, error)
            }
        }
        let receipts: [Receipt]
        do {
            receipts =
                accepted.isEmpty
                ? [] : try await store.enqueue(accepted.map(\.outgoing.message), to: queue, durability: .powerLoss)
        } catch let error as PenstockError where error.code == .queueFull {
            receipts = []
        }
        for (index, (id, outgoing)) in accepted.enumerated() {
            if index < receipts.count, receipts[index].wasSent {
                batch.succeed(id, outgoing.answer(receipts[index], settings))
            } else {
                batch.fail(id, .full(queue))
            }
        }
        return .amazonJSON(batch.json)
    }
}

extension Receipt {
    /// What a queue has dropped as it came was not sent, and an answer has no other word for that. A duplicate was, whatever became of
    /// the first.
    fileprivate var wasSent: Bool { skipped || state != .dropped }
}

extension Refusal {
    fileprivate static func full(_ queue: QueueName) -> Refusal {
        Refusal("RequestThrottled", "The queue '\(queue)' is full; try again later.", isSendersFault: false)
    }
}

/// A message on its way into a queue, and what its sender is told of it.
private struct Outgoing {
    static let deduplicationPeriod = Duration.seconds(300)

    var message: NewMessage
    private let attributesMD5: String?
    private let systemMD5: String?

    /// - Throws: a refusal when Amazon would refuse the message.
    init(_ input: SentMessage, to settings: QueueSettings, now: Timestamp) throws(Refusal) {
        guard let body = input.MessageBody, !body.isEmpty else { throw .missing("MessageBody") }
        try MessageBody.validate(body)
        let attributes = input.MessageAttributes ?? [:]
        try attributes.validate()
        let system = input.MessageSystemAttributes ?? [:]
        try system.validate()
        if let other = system.keys.filter({ $0 != "AWSTraceHeader" }).min() {
            throw .invalid("Message system attribute name '\(Escape.text(other))' is invalid.")
        }
        let bytesMax = settings.number("MaximumMessageSize")
        guard body.utf8.count + attributes.byteCount <= bytesMax else {
            throw .invalid(
                "One or more parameters are invalid. Reason: Message must be shorter than \(bytesMax + 1) bytes.")
        }
        var envelope = Envelope([:])
        if !attributes.isEmpty { envelope.attributes = attributes }
        envelope.trace = system["AWSTraceHeader"]?.StringValue
        message = NewMessage(payload: Array(body.utf8), expiry: settings.expiry)
        if settings.isFifo {
            try Self.order(input, body, settings, &message, &envelope)
        } else {
            if input.MessageDeduplicationId != nil {
                throw .invalid("MessageDeduplicationId is for FIFO queues; this queue is none.")
            }
            if let group = input.MessageGroupId {
                try Self.check(group, "MessageGroupId")
                if settings.policy.hasGroupKeys { message.group = group } else { envelope.groupID = group }
            }
        }
        // In a queue in order a message has no delay of its own, not even 0: it would overtake those of its group.
        let given = settings.isFifo ? nil : input.DelaySeconds
        let delay = given ?? settings.number("DelaySeconds")
        try Refusal.require("DelaySeconds", delay, in: 0...900)
        if let (due, wait) = settings.due(after: delay, now: now) {
            message.due = due
            // A delay may be longer than the time that a queue keeps its messages for. No message expires before it is due.
            if case .after(let period)? = message.expiry, period <= wait { message.expiry = .after(period + wait) }
        }
        message.headers = try envelope.headers()
        attributesMD5 = attributes.md5
        systemMD5 = system.md5
    }

    /// The group of a message in a FIFO queue, and the key by which it is sent once in five minutes.
    private static func order(
        _ input: SentMessage, _ body: String, _ settings: QueueSettings, _ message: inout NewMessage,
        _ envelope: inout Envelope
    ) throws(Refusal) {
        guard let group = input.MessageGroupId else { throw .missing("MessageGroupId") }
        try check(group, "MessageGroupId")
        if let delay = input.DelaySeconds, delay != 0 {
            throw .invalid(
                "Value \(delay) for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for "
                    + "this queue type.")
        }
        let id: String
        if let given = input.MessageDeduplicationId {
            try check(given, "MessageDeduplicationId")
            id = given
        } else if settings.deduplicatesByContent {
            id = SHA256.hash(data: Array(body.utf8)).hex
        } else {
            throw .invalid(
                "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
            )
        }
        message.group = group
        // A space is in none of the two.
        message.uniqueKey = UniqueKey(
            settings.deduplicatesByGroup ? group + " " + id : id, scope: .period(deduplicationPeriod), onConflict: .skip
        )
        envelope.deduplicationID = id
    }

    private static func check(_ text: String, _ parameter: String) throws(Refusal) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalid(
                "Value for parameter \(parameter) is invalid. Reason: \(parameter) can only include alphanumeric and punctuation "
                    + "characters. 1 to 128 in length.")
        }
    }

    func answer(_ receipt: Receipt, _ settings: QueueSettings) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init(key: "MessageId", value: .string(MessageID.text(of: receipt.sequence))),
            .init(key: "MD5OfMessageBody", value: .string(Insecure.MD5.hash(data: message.payload).hex)),
        ]
        if let attributesMD5 { members.append(.init(key: "MD5OfMessageAttributes", value: .string(attributesMD5))) }
        if let systemMD5 { members.append(.init(key: "MD5OfMessageSystemAttributes", value: .string(systemMD5))) }
        if settings.isFifo {
            members.append(
                .init(key: "SequenceNumber", value: .string(MessageID.sequenceText(of: receipt.sequence))))
        }
        return members
    }
}
