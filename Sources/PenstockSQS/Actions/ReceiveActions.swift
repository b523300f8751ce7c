import Crypto
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Call {
    private static let systemAttributes: Set<String> = [
        "AWSTraceHeader", "All", "ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount",
        "DeadLetterQueueSourceArn",
        "MessageDeduplicationId", "MessageGroupId", "SenderId", "SentTimestamp", "SequenceNumber",
    ]

    func receiveMessage() async throws -> Response {
        let input = try input(ReceiveInput.self)
        let queue = try queue(input.QueueUrl, for: .consume)
        let settings = try await directory.settings(of: queue)
        let limit = input.MaxNumberOfMessages ?? 1
        try Refusal.require("MaxNumberOfMessages", limit, in: 1...10)
        let wait = input.WaitTimeSeconds ?? settings.number("ReceiveMessageWaitTimeSeconds")
        try Refusal.require("WaitTimeSeconds", wait, in: 0...20)
        let visibility = input.VisibilityTimeout ?? settings.number("VisibilityTimeout")
        try Refusal.require("VisibilityTimeout", visibility, in: 0...43_200)
        let names = Set(input.AttributeNames ?? []).union(input.MessageSystemAttributeNames ?? [])
        if let unknown = names.first(where: { !Self.systemAttributes.contains($0) }) {
            throw Refusal("InvalidAttributeName", "Unknown Attribute \(Escape.text(unknown)).")
        }
        let asked = AskedAttributes(input.MessageAttributeNames ?? [])
        let claim = RemoteClaim(
            queues: [queue], limit: limit, lease: max(.seconds(visibility), Limits.leaseRange.lowerBound),
            worker: try workerName, wait: .zero)
        let messages = try await received(by: claim, from: queue, within: .seconds(wait))
        do {
            let json = try await json(of: messages, settings, names, asked)
            if visibility == 0, !messages.isEmpty {
                // It is there for the next one at once. Its handle is good as long as nobody has received it again.
                _ = try await store.settle(messages.map { Settlement($0.lease, Self.givenBack) })
            }
            // Those that cannot be written any more, as the client has gone, are given back.
            return .amazonJSON(
                body: .handingOver(
                    messages.map(\.lease), of: queues, ByteBuffer(bytes: json.bytes), on: context.eventLoop))
        } catch {
            // Nobody hears of them. Those that cannot be given back come back when their leases end.
            try? await queues.giveBack(messages.map(\.lease))
            throw error
        }
    }

    /// How often a long poll looks for new dead letters that belong here: nobody is woken here for those of another queue.
    private static let lookInterval = Duration.seconds(1)

    /// Claims what there is. Where there is nothing, brings dead letters over that belong here, and waits for what comes.
    private func received(
        by claim: RemoteClaim, from queue: QueueName, within wait: Duration
    ) async throws -> [ClaimedMessage] {
        var claim = claim
        let patience = Patience(wait, directory.time)
        var messages = try await claim.run(queues, context, directory.time).map(\.message)
        var hasLooked = false
        while messages.isEmpty {
            // Without a wait there is one look: what it brings may be for nobody yet, as in a paused queue.
            let left = patience.left ?? .zero
            guard !hasLooked || left > .zero else { break }
            hasLooked = true
            let isBrought = try await DeadLetters(store: store, directory: directory).bring(into: queue)
            guard isBrought || left > .zero else { break }
            claim.wait = try await directory.sources(of: queue).isEmpty ? left : min(left, Self.lookInterval)
            let step = Patience(claim.wait, directory.time)
            messages = try await claim.run(queues, context, directory.time).map(\.message)
            // Without messages it ends before its time when the server is told to stop.
            if messages.isEmpty, step.left != nil { break }
        }
        return messages
    }

    /// What a visibility timeout of 0 is: an attempt that counts, and the next one at once.
    static let givenBack = Verdict.retry(error: "Its receiver set the visibility timeout to 0.", after: .zero)

    /// By which name this client's leases are known.
    ///
    /// What became of a claim is on record with this name, and says whose claim it was. So each token has its own.
    var workerName: WorkerName {
        get throws(PenstockError) {
            let name = "sqs \(principal.name)"
            if name.utf8.count <= Limits.workerNameBytesMax { return try WorkerName(ofToken: name) }
            return try WorkerName("sqs \(SHA256.hash(data: Array(principal.name.utf8)).hex)")
        }
    }

    private func json(
        of messages: [ClaimedMessage], _ settings: QueueSettings, _ names: Set<String>,
        _ askedAttributes: AskedAttributes
    ) async throws -> JSONValue {
        if messages.isEmpty { return .object([]) }
        let place = try await directory.place(of: settings.name)
        let asks = { names.contains("All") || names.contains($0) }
        let firstReceived =
            asks("ApproximateFirstReceiveTimestamp") ? try await firstAttempts(of: messages) : [:]
        var all: [JSONValue] = []
        for message in messages {
            let envelope = Envelope(message.headers)
            var attributes = envelope.attributes ?? [:]
            let body = Self.body(of: message, &attributes)
            // A dead letter has the name that it had in its own queue.
            let id = envelope.source == nil ? message.lease.sequence : message.origin ?? message.lease.sequence
            let handle = ReceiptHandle(lease: message.lease, attempt: message.attempt)
            var members: [JSONValue.Member] = [
                .init(key: "MessageId", value: .string(MessageID.text(of: id))),
                .init(key: "ReceiptHandle", value: .string(handle.text(of: place))),
                .init(key: "MD5OfBody", value: .string(Insecure.MD5.hash(data: Array(body.utf8)).hex)),
                .init(key: "Body", value: .string(body)),
            ]
            let asked = attributes.asked(for: askedAttributes)
            if let md5 = asked.md5 {
                members.append(.init(key: "MD5OfMessageAttributes", value: .string(md5)))
                members.append(.init(key: "MessageAttributes", value: asked.json))
            }
            var system: [String: String] = [
                "SentTimestamp": String(message.enqueuedAt.microseconds / 1000),
                "ApproximateReceiveCount": String(message.attempt),
            ]
            system["ApproximateFirstReceiveTimestamp"] = firstReceived[message.lease.sequence].map {
                String($0.microseconds / 1000)
            }
            system["AWSTraceHeader"] = envelope.trace
            system["MessageGroupId"] = message.group ?? envelope.groupID
            system["MessageDeduplicationId"] = envelope.deduplicationID
            system["DeadLetterQueueSourceArn"] = envelope.source.flatMap { try? QueueName($0) }.map(arn)
            if settings.isFifo {
                system["SequenceNumber"] = MessageID.sequenceText(of: message.lease.sequence)
            }
            system = system.filter { asks($0.key) }
            if !system.isEmpty { members.append(.init(key: "Attributes", value: .texts(system))) }
            all.append(.object(members))
        }
        return .object([.init(key: "Messages", value: .array(all))])
    }

    /// The payload as text. One that is no text goes in base64, and an attribute says so.
    private static func body(of message: ClaimedMessage, _ attributes: inout MessageAttributes) -> String {
        if let text = String(validating: message.payload, as: UTF8.self) { return text }
        attributes["penstock-encoding"] = AttributeValue(DataType: "String", StringValue: "base64")
        return Base64.encode(message.payload)
    }

    /// When the messages were received first. Of one that was received before, the attempts on record say so.
    private func firstAttempts(of messages: [ClaimedMessage]) async throws -> [SequenceNumber: Timestamp] {
        var first: [SequenceNumber: Timestamp] = [:]
        let now = directory.time.now
        let again = messages.filter { $0.attempt > 1 }.map(\.lease.sequence)
        if !again.isEmpty {
            let query = MessageQuery(sequences: again, limit: again.count, withAttempts: true)
            try await store.eachPage(of: query) { page in
                for record in page { first[record.sequence] = record.attempts.first?.startedAt }
            }
        }
        for message in messages where first[message.lease.sequence] == nil { first[message.lease.sequence] = now }
        return first
    }
}
