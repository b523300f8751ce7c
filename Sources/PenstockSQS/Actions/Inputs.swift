// What the requests bring, by the names of Amazon's model. What is missing there is `nil`; what must not be is asked for by
// the action, so that the answer names it.

/// A request that is about one queue, and says nothing else.
struct QueueInput: Decodable {
    var QueueUrl: String?
    var NextToken: String?
    var MaxResults: Int?
}

struct CreateQueueInput: Decodable {
    var QueueName: String?
    var Attributes: [String: String]?
    var tags: [String: String]?
}

struct GetQueueUrlInput: Decodable {
    var QueueName: String?
}

struct ListQueuesInput: Decodable {
    var QueueNamePrefix: String?
    var NextToken: String?
    var MaxResults: Int?
}

struct AttributesInput: Decodable {
    var QueueUrl: String?
    var AttributeNames: [String]?
}

struct SetAttributesInput: Decodable {
    var QueueUrl: String?
    var Attributes: [String: String]?
}

struct TagsInput: Decodable {
    var QueueUrl: String?
    var Tags: [String: String]?
    var TagKeys: [String]?
}

/// A message that is sent, alone or as an entry of a batch.
struct SentMessage: Decodable {
    var QueueUrl: String?
    var Id: String?
    var MessageBody: String?
    var DelaySeconds: Int?
    var MessageAttributes: [String: AttributeValue]?
    var MessageSystemAttributes: [String: AttributeValue]?
    var MessageDeduplicationId: String?
    var MessageGroupId: String?
}

/// A handle that is shown, alone or as an entry of a batch.
struct ShownHandle: Decodable {
    var QueueUrl: String?
    var Id: String?
    var ReceiptHandle: String?
    var VisibilityTimeout: Int?
}

struct BatchInput<Entry: Decodable>: Decodable {
    var QueueUrl: String?
    var Entries: BatchEntries<Entry>?
}

/// The entries of a batch. Of too many, those behind the bound are counted and not read.
struct BatchEntries<Entry: Decodable>: Decodable {
    var first: [Entry] = []
    var count = 0

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd, first.count < Batch.countMax { first.append(try container.decode(Entry.self)) }
        count = container.count ?? first.count
    }
}

struct ReceiveInput: Decodable {
    var QueueUrl: String?
    var AttributeNames: [String]?
    var MessageSystemAttributeNames: [String]?
    var MessageAttributeNames: [String]?
    var MaxNumberOfMessages: Int?
    var VisibilityTimeout: Int?
    var WaitTimeSeconds: Int?
}

struct MoveTaskInput: Decodable {
    var SourceArn: String?
    var DestinationArn: String?
    var MaxResults: Int?
    var TaskHandle: String?
}
