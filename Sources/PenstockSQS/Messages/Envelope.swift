import Foundation
import PenstockCore

/// What a message has beside its body that Penstock has no place for, as JSON in one header.
///
/// Amazon's attributes may differ in case or punctuation only, and headers may not. A message with nothing of this has no such
/// header.
struct Envelope: Codable, Equatable, Sendable {
    static let header = "amazon-sqs"

    var attributes: MessageAttributes?
    /// The system attribute `AWSTraceHeader`.
    var trace: String?
    var deduplicationID: String?
    /// The group of a message in a queue without groups.
    var groupID: String?
    /// The queue whose dead letter it was.
    var source: String?

    var isEmpty: Bool { self == Envelope() }

    /// The header, to be put with the others; none when there is nothing to say.
    func headers() throws(Refusal) -> [String: String] {
        if isEmpty { return [:] }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { throw .invalid("The message attributes cannot be kept.") }
        let headers = [Self.header: String(decoding: data, as: UTF8.self)]
        do { try HeaderRules.validate(headers) } catch {
            throw .invalid(
                "The message attributes, written as JSON, have more than the \(Limits.headerBytesMax) bytes that Penstock keeps "
                    + "beside a body.")
        }
        return headers
    }

    /// What a message keeps when it goes into another queue: its headers, with the queue whose dead letter it was or without it,
    /// and its group, which lies in the envelope unless `hasGroups` says that that queue has groups. What other programs have put
    /// there stays.
    ///
    /// Where there is no room beside the rest, the queue's name is left out first, as the message's origin still tells it.
    static func moved(
        _ headers: [String: String], group: String?, hasGroups: Bool, from source: String?
    ) -> (headers: [String: String], group: String?) {
        var envelope = Envelope()
        if let text = headers[header] {
            guard let read = Envelope(json: text) else { return (headers, hasGroups ? group : nil) }
            envelope = read
        }
        let group = group ?? envelope.groupID
        let kept = hasGroups ? nil : group
        for (source, groupID) in [(source, kept), (nil, kept), (nil, nil)] {
            envelope.source = source
            envelope.groupID = groupID
            guard let own = try? envelope.headers() else { continue }
            let changed = headers.filter { $0.key != header }.merging(own) { $1 }
            if (try? HeaderRules.validate(changed)) != nil { return (changed, hasGroups ? group : nil) }
        }
        return (headers, hasGroups ? group : nil)
    }

    /// Reads what a message has. Headers of messages that other programs have enqueued are attributes of type String.
    init(_ headers: [String: String]) {
        self.init()
        if headers.isEmpty { return }
        if let text = headers[Self.header], let read = Envelope(json: text) { self = read }
        for (name, value) in headers where name != Self.header && !value.isEmpty {
            attributes = attributes ?? [:]
            attributes?[name] = AttributeValue(DataType: "String", StringValue: value)
        }
    }

    init() {}

    /// Reads the header; `nil` when it is none.
    private init?(json text: String) {
        guard let read = try? JSONDecoder().decode(Envelope.self, from: Data(text.utf8)) else { return nil }
        self = read
    }
}

/// What a body may be.
enum MessageBody {
    /// Bytes of one message, and of all messages of a batch.
    static let bytesMax = 1024 * 1024

    /// Throws a refusal when a body has a character that XML 1.0 has not, as Amazon refuses it.
    static func validate(_ body: String) throws(Refusal) {
        for scalar in body.unicodeScalars {
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: continue
            default:
                throw Refusal(
                    "InvalidMessageContents",
                    "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | "
                        + "#x10000 to #x10FFFF")
            }
        }
    }
}
