import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// One request of a client of Amazon SQS, and what it is carried out with.
struct Call {
    let queues: PenstockStore
    let directory: QueueDirectory
    let moves: MoveTasks
    let principal: Principal
    let request: Request
    let context: ServerContext
    let body: ByteBuffer

    var store: any MessageStore { directory.store }

    func perform(_ action: String) async throws -> Response {
        switch action {
        case "SendMessage": try await sendMessage()
        case "SendMessageBatch": try await sendMessageBatch()
        case "ReceiveMessage": try await receiveMessage()
        case "DeleteMessage": try await deleteMessage()
        case "DeleteMessageBatch": try await deleteMessageBatch()
        case "ChangeMessageVisibility": try await changeMessageVisibility()
        case "ChangeMessageVisibilityBatch": try await changeMessageVisibilityBatch()
        case "CreateQueue": try await createQueue()
        case "DeleteQueue": try await deleteQueue()
        case "PurgeQueue": try await purgeQueue()
        case "ListQueues": try await listQueues()
        case "GetQueueUrl": try await getQueueURL()
        case "GetQueueAttributes": try await getQueueAttributes()
        case "SetQueueAttributes": try await setQueueAttributes()
        case "TagQueue": try await tagQueue()
        case "UntagQueue": try await untagQueue()
        case "ListQueueTags": try await listQueueTags()
        case "ListDeadLetterSourceQueues": try await listDeadLetterSourceQueues()
        case "StartMessageMoveTask": try await startMessageMoveTask()
        case "ListMessageMoveTasks": try await listMessageMoveTasks()
        case "CancelMessageMoveTask": try await cancelMessageMoveTask()
        case "AddPermission", "RemovePermission":
            throw Refusal.unsupported("Who may use a queue is said in the server's file of tokens.")
        default:
            throw Refusal("UnknownOperationException", "There is no action '\(Escape.text(action))'.")
        }
    }

    func input<Input: Decodable>(_ type: Input.Type) throws -> Input {
        // A request without a body is one without members.
        let bytes = body.readableBytes == 0 ? Array("{}".utf8) : Array(body.readableBytesView)
        do {
            return try JSONInput.decode(type, from: bytes[...], as: "The request")
        } catch {
            throw Refusal("SerializationException", error.message)
        }
    }

    /// The tags that the body's member of that name has, which was read as `decoded`.
    func tags(_ member: String, _ decoded: [String: String]?) -> QueueTags {
        if let tags = QueueTags(member, of: Array(body.readableBytesView)) { return tags }
        // Its name is written with characters that are escaped, or it is not there.
        return QueueTags((decoded ?? [:]).map { (name: $0.key, value: $0.value) })
    }

    func requireMay(_ scope: Scope, _ queue: QueueName?) throws(Refusal) {
        do { try principal.require(scope, queue) } catch {
            throw Refusal("AccessDeniedException", error.detail, status: .forbidden)
        }
    }

    func mayAnything(_ queue: QueueName) -> Bool { Scope.allCases.contains { principal.may($0, queue) } }

    // MARK: Names of queues

    private static let account = "000000000000"

    /// The queue that a URL, or a plain name, names by its last part. The token has to have the right to it.
    func queue(_ url: String?, for scope: Scope) throws(Refusal) -> QueueName {
        guard let url, !url.isEmpty else { throw .missing("QueueUrl") }
        let part = url.split(separator: "/").last.map(String.init) ?? url
        guard let name = part.removingPercentEncoding, let queue = try? QueueName(name) else { throw .unknownQueue }
        try requireMay(scope, queue)
        return queue
    }

    /// The queue that the ARN of a source names. The token has to have the right to it.
    func queue(arn: String?, for scope: Scope) throws(Refusal) -> QueueName {
        guard let arn, !arn.isEmpty else { throw .missing("SourceArn") }
        guard let queue = try? QueueName(ARN.name(in: arn)) else { throw .unknownQueue }
        try requireMay(scope, queue)
        return queue
    }

    /// The queue's URL, at the address by which the client called.
    func url(_ queue: QueueName) -> String {
        let scheme = request.cameByTLS ? "https" : "http"
        return "\(scheme)://\(request.head.authority ?? "localhost")/\(Self.account)/\(URLText.escape(queue.text))"
    }

    func arn(_ queue: QueueName) -> String {
        "arn:aws:sqs:\(Signature.region(of: request) ?? "us-east-1"):\(Self.account):\(queue.text)"
    }
}
