import Foundation
import PenstockCore
import PenstockFormats

/// The attributes of queues: which there are, what they may be, and what they are where nobody has said anything.
enum QueueAttributes {
    /// Whole numbers, each with its range and its default.
    static let numbers: [String: (range: ClosedRange<Int>, otherwise: Int)] = [
        "DelaySeconds": (0...900, 0),
        "MaximumMessageSize": (1024...MessageBody.bytesMax, MessageBody.bytesMax),
        "MessageRetentionPeriod": (60...1_209_600, 345_600),
        "ReceiveMessageWaitTimeSeconds": (0...20, 0),
        "VisibilityTimeout": (0...43_200, 30),
        "KmsDataKeyReusePeriodSeconds": (60...86_400, 300),
    ]
    /// Words, each with what it may be. The first is the default.
    static let words: [String: [String]] = [
        "ContentBasedDeduplication": ["false", "true"],
        "DeduplicationScope": ["queue", "messageGroup"],
        "FifoThroughputLimit": ["perQueue", "perMessageGroupId"],
        "SqsManagedSseEnabled": ["false", "true"],
    ]
    /// Text that is kept as it is; an empty one takes it away.
    static let texts: Set<String> = ["KmsMasterKeyId", "Policy", "RedriveAllowPolicy"]
    /// Those that only queues in order have.
    static let fifoOnly: Set<String> = ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"]
    /// What is counted or noted, and set by nobody.
    static let readOnly: Set<String> = [
        "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
        "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn",
    ]

    static func isKnown(_ name: String) -> Bool {
        numbers[name] != nil || words[name] != nil || texts.contains(name) || readOnly.contains(name)
            || name == "FifoQueue" || name == "RedrivePolicy"
    }

    /// Brings attributes that a client gives to the form in which they are kept.
    ///
    /// - Throws: a refusal that names the first that cannot be.
    static func normalized(_ given: [String: String], isFifo: Bool) throws(Refusal) -> [String: String] {
        var kept: [String: String] = [:]
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            let refusal = Refusal("InvalidAttributeValue", "Invalid value for the parameter \(name).")
            if let known = numbers[name] {
                guard let number = Int(value), known.range.contains(number) else { throw refusal }
                kept[name] = String(number)
            } else if let known = words[name], isFifo || !fifoOnly.contains(name) {
                guard let word = known.first(where: { $0.lowercased() == value.lowercased() }) else { throw refusal }
                kept[name] = word
            } else if texts.contains(name) {
                kept[name] = value
            } else if name == "FifoQueue" {
                guard value.lowercased() == (isFifo ? "true" : "false") else {
                    throw .invalid(
                        "A queue is a FIFO queue if its name ends with .fifo and FifoQueue is true, and only then.")
                }
            } else if name == "RedrivePolicy" {
                kept[name] = value.isEmpty ? "" : try RedrivePolicy(value).text
            } else {
                throw Refusal("InvalidAttributeName", "Unknown Attribute \(Escape.text(name)).")
            }
        }
        return kept
    }
}

/// Where a queue's messages go that were received too often.
struct RedrivePolicy: Equatable, Sendable {
    var targetARN: String
    var receiveCountMax: Int

    /// Reads the JSON that a client gives. The count may be a text.
    init(_ text: String) throws(Refusal) {
        func refusal(_ reason: String) -> Refusal {
            .invalid("Value for parameter RedrivePolicy is invalid. Reason: \(reason)")
        }
        guard let read = try? JSONDecoder().decode(Written.self, from: Data(text.utf8)) else {
            throw refusal("Redrive policy is not a valid JSON map.")
        }
        guard let target = read.deadLetterTargetArn else {
            throw refusal("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
        }
        guard let count = read.maxReceiveCount else {
            throw refusal("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
        }
        guard Limits.attemptsRange.contains(count.value) else { throw refusal("maxReceiveCount must be 1 to 1000.") }
        (targetARN, receiveCountMax) = (target, count.value)
    }

    /// The policy as it is kept and told.
    var text: String {
        JSONValue.object([
            "deadLetterTargetArn": .string(targetARN), "maxReceiveCount": .integer(receiveCountMax),
        ]).text
    }

    /// The name of the dead-letter queue.
    var target: String { ARN.name(in: targetARN) }

    /// Whether both say the same: regions and accounts are all one here, and each client is told its own.
    func agrees(with other: RedrivePolicy) -> Bool {
        target.utf8.elementsEqual(other.target.utf8) && receiveCountMax == other.receiveCountMax
    }

    private struct Written: Decodable {
        var deadLetterTargetArn: String?
        var maxReceiveCount: Count?
    }

    private struct Count: Decodable {
        var value: Int

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                value = number
            } else {
                value = Int(try container.decode(String.self)) ?? 0
            }
        }
    }
}

/// Amazon's names of resources.
enum ARN {
    /// The queue that an ARN names: all that is behind the account, as a name may have colons. What is no ARN is a name.
    static func name(in text: String) -> String {
        let parts = text.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        return parts.count == 6 && parts[0] == "arn" ? String(parts[5]) : text
    }
}
