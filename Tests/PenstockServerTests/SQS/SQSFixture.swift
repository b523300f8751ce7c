import Foundation
import Penstock
import PenstockCore
import Testing

extension TestServer {
    /// Carries out an action of Amazon SQS, which must go well.
    @discardableResult
    func sqs(_ action: String, _ input: [String: Any], sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> [String: Any]
    {
        let response = try await sqsResponse(action, input)
        #expect(response.status == 200, "\(action): \(response.text)", sourceLocation: sourceLocation)
        return try response.json()
    }

    /// Expects an action to be refused, with that type and that code of the older protocol.
    func sqsRefuses(
        _ action: String, _ input: [String: Any], _ type: String, code: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let response = try await sqsResponse(action, input)
        #expect(response.status == 400, sourceLocation: sourceLocation)
        #expect(
            try response.json()["__type"] as? String == "com.amazonaws.sqs#" + type, "\(response.text)",
            sourceLocation: sourceLocation)
        #expect(
            response.header("x-amzn-query-error") == "\(code ?? type);Sender", sourceLocation: sourceLocation)
    }

    func sqsResponse(_ action: String, _ input: [String: Any], path: String = "/") async throws -> TestResponse {
        try await request(
            "POST", path,
            headers: ["X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0"],
            body: try JSONSerialization.data(withJSONObject: input))
    }

    /// Makes a queue, and returns its URL.
    func sqsQueue(_ name: String, _ attributes: [String: String] = [:]) async throws -> String {
        let made = try await sqs("CreateQueue", ["QueueName": name, "Attributes": attributes])
        return try #require(made["QueueUrl"] as? String)
    }

    /// Makes a queue whose messages are dead after one receive, with the dead-letter queue `dead`, and returns its URL.
    func sqsQueue(_ name: String, withDeadLettersIn dead: String, _ more: [String: String] = [:]) async throws -> String
    {
        try await sqsQueue(name, more.merging(["RedrivePolicy": Self.redrivePolicy(to: dead)]) { $1 })
    }

    static func redrivePolicy(to dead: String, after count: Int = 1) -> String {
        "{\"deadLetterTargetArn\":\"\(arn(dead))\",\"maxReceiveCount\":\"\(count)\"}"
    }

    static func arn(_ queue: String) -> String { "arn:aws:sqs:us-east-1:000000000000:\(queue)" }

    /// Receives what is there, and gives it back at once: an attempt that counts.
    @discardableResult
    func sqsFail(_ queue: String) async throws -> [[String: Any]] {
        try await sqsReceive(queue, ["VisibilityTimeout": 0, "MaxNumberOfMessages": 10])
    }

    /// Receives messages.
    func sqsReceive(_ queue: String, _ more: [String: Any] = [:]) async throws -> [[String: Any]] {
        let input = more.merging(["QueueUrl": queue, "MessageSystemAttributeNames": ["All"]]) { $1 }
        return try await sqs("ReceiveMessage", input)["Messages"] as? [[String: Any]] ?? []
    }

    /// Moves the dead letters of a dead-letter queue back, and returns what is told of that.
    @discardableResult
    func sqsMove(from queue: String = "dead") async throws -> [String: Any] {
        try await sqs("StartMessageMoveTask", ["SourceArn": Self.arn(queue)])
        return try await sqsLastMove(from: queue)
    }

    /// What is told of the last such move.
    func sqsLastMove(from queue: String = "dead") async throws -> [String: Any] {
        let tasks = try await sqs("ListMessageMoveTasks", ["SourceArn": Self.arn(queue)])["Results"]
        return try #require((tasks as? [[String: Any]])?.first)
    }

    /// What the store says that a queue has.
    func depths(of queue: QueueName) async throws -> Depths? {
        try await store.queues().first { $0.name == queue }?.depths
    }
}

extension [String: Any] {
    var handle: String { self["ReceiptHandle"] as? String ?? "" }
    var body: String? { self["Body"] as? String }
    func system(_ name: String) -> String? { (self["Attributes"] as? [String: String])?[name] }
}
