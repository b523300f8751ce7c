import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockSQS

@Suite struct SQSHandleTests {
    @Test func aHandleIsOfItsQueueAndOfNothingElse() throws {
        let lease = Lease(sequence: SequenceNumber(42), token: LeaseToken(rawValue: .max))
        let here = StoreID(rawValue: "here")
        let mail = ReceiptHandle.Place(queue: try QueueName("mail"), store: here)
        let handle = ReceiptHandle(lease: lease, attempt: 3)
        let text = handle.text(of: mail)
        #expect(ReceiptHandle(text, of: mail) == handle)
        for other in [
            ReceiptHandle.Place(queue: try QueueName("other"), store: here),
            ReceiptHandle.Place(queue: mail.queue, store: StoreID(rawValue: "there")),
            ReceiptHandle.Place(queue: mail.queue, store: nil),
        ] {
            #expect(ReceiptHandle(text, of: other) == nil)
        }
        for wrong in ["", "garbage", String(text.dropLast(4)), "B" + text.dropFirst(), text + text] {
            #expect(ReceiptHandle(wrong, of: mail) == nil)
        }
    }

    @Test func namesOfMessages() {
        #expect(MessageID.text(of: SequenceNumber(42)) == "00000000-0000-8000-8000-00000000002a")
        #expect(MessageID.text(of: SequenceNumber(.max)) == "00000000-7fff-8000-8000-ffffffffffff")
        #expect(MessageID.sequenceText(of: SequenceNumber(42)) == "00000000000000000042")
    }

    /// What becomes of a message whose receiver deletes it when its time is over.
    @Test func aHandleIsGoodAfterItsTimeUntilSomebodyElseReceives() async throws {
        let time = ManualTime()
        let storage = InMemoryStore(time: time)
        try await TestServer.run(store: PenstockStore(storage, options: .init(time: time))) { server in
            let url = try await server.sqsQueue("mail")
            func delete(_ handle: String) async throws {
                try await server.sqs("DeleteMessage", ["QueueUrl": url, "ReceiptHandle": handle])
            }
            func receive() async throws -> String { try await server.sqsReceive(url).first?.handle ?? "" }
            func depths() async throws -> Depths? { try await server.store.queues().first?.depths }

            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            let first = try await receive()
            time.advance(by: .seconds(31))
            // The server may have put it back in line by itself.
            _ = try await storage.reclaim()
            let second = try await receive()
            try await delete(first)
            #expect(try await depths()?.leased == 1, "A superseded handle does nothing.")
            time.advance(by: .seconds(31))
            _ = try await storage.reclaim()
            try await delete(first)
            #expect(try await depths()?.ready == 1, "Nor does it when the later receiver's time is over.")
            try await server.sqsRefuses(
                "ChangeMessageVisibility", ["QueueUrl": url, "ReceiptHandle": second, "VisibilityTimeout": 9],
                "MessageNotInflight", code: "AWS.SimpleQueueService.MessageNotInflight")
            try await delete(second)
            #expect(try await depths()?.waiting == 0)
            try await delete(second)
            try await server.sqsRefuses(
                "ChangeMessageVisibility", ["QueueUrl": url, "ReceiptHandle": second, "VisibilityTimeout": 9],
                "InvalidParameterValue")
            try await server.sqsRefuses(
                "DeleteMessage", ["QueueUrl": url, "ReceiptHandle": "garbage"], "ReceiptHandleIsInvalid")
        }
    }

    @Test func moreTimeIsGivenAndAMessageGivenBack() async throws {
        let time = ManualTime()
        let storage = InMemoryStore(time: time)
        try await TestServer.run(store: PenstockStore(storage, options: .init(time: time))) { server in
            let url = try await server.sqsQueue("mail")
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            let handle = try await server.sqsReceive(url).first?.handle ?? ""
            try await server.sqs(
                "ChangeMessageVisibility", ["QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 100])
            time.advance(by: .seconds(99))
            #expect(try await storage.reclaim() == Reclaimed())
            try await server.sqs(
                "ChangeMessageVisibility", ["QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0])
            #expect(try await server.sqsReceive(url).first?.system("ApproximateReceiveCount") == "2")
        }
    }

    /// A batch is carried out in its order: the message has more time, and then it is given back.
    @Test func ofTwoEntriesForOneMessageTheFirstIsFirst() async throws {
        try await TestServer.run { server in
            let url = try await server.sqsQueue("mail")
            try await server.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "x"])
            let handle = try await server.sqsReceive(url).first?.handle ?? ""
            let entries: [[String: Any]] = [
                ["Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": 30],
                ["Id": "b", "ReceiptHandle": handle, "VisibilityTimeout": 0],
                ["Id": "c", "ReceiptHandle": handle, "VisibilityTimeout": 30],
            ]
            let answer = try await server.sqs(
                "ChangeMessageVisibilityBatch", ["QueueUrl": url, "Entries": entries])
            #expect((answer["Successful"] as? [[String: Any]])?.map { $0["Id"] as? String } == ["a", "b"])
            #expect((answer["Failed"] as? [[String: Any]])?.map { $0["Id"] as? String } == ["c"])
        }
    }

    // The signature is one that botocore has made.
    @Test(
        arguments: [
            (0, "ops", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", nil),
            (300, "ops", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", nil),
            (301, "ops", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", "SignatureDoesNotMatch"),
            (-300, "ops", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", nil),
            (-301, "ops", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", "SignatureDoesNotMatch"),
            (0, "ops", "3afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", "SignatureDoesNotMatch"),
            (0, "other", "2afea6a6bd6e22fa7f45f7d28a83a1a14d315a3878ebd7cc93024f66c4867ec0", "InvalidClientTokenId"),
        ] as [(Int64, String, String, String?)])
    func aRequestIsSignedWithAToken(after seconds: Int64, key: String, signature: String, refusal: String?) throws {
        let tokens = try Tokens("ops 0123456789abcdef-ops produce\n")
        let body = ByteBuffer(string: "{\"QueueName\":\"orders\"}")
        let head = HTTPRequest(
            method: .post, scheme: "http", authority: "127.0.0.1:7700", path: "/000000000000/my%20queue?b=2&a=1",
            headerFields: [
                .contentType: "application/x-amz-json-1.0",
                try #require(HTTPField.Name("X-Amz-Date")): "20260102T030405Z",
                try #require(HTTPField.Name("X-Amz-Target")): "AmazonSQS.GetQueueUrl",
                .authorization: "AWS4-HMAC-SHA256 Credential=\(key)/20260102/eu-west-1/sqs/aws4_request, "
                    + "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=\(signature)",
            ])
        let request = Request(head: head, body: RequestBody(buffer: body))
        let now = Timestamp(microseconds: (1_767_323_045 + seconds) * 1_000_000)
        do {
            let signature = Signature(request)
            let signer = try signature.signer(tokens, now: now)
            #expect(try signature.verify(body: body, by: signer).name == "ops")
            #expect(refusal == nil)
        } catch {
            #expect(error.type == refusal)
        }
    }

    /// What is not signed could be changed on its way, and a request that somebody has heard would become another one. Each signature is
    /// the right one for the headers that are signed.
    @Test(
        arguments: [
            ("host;x-amz-date;x-amz-target", "594e3e700235331a41885b0ab11a3063f78316b7ca28bb61b31b3a0f2ec02beb", nil),
            (
                "x-amz-date;x-amz-target", "6add6937a076f44edb86c1847028b24549373de1b8ee19e99fe6787237e80ac7",
                "SignatureDoesNotMatch"
            ),
            (
                "host;x-amz-target", "f0c5cc150a8ef32a8e703145d7da108cc052cb54a6ed387db89774d331fe8684",
                "SignatureDoesNotMatch"
            ),
            (
                "host;x-amz-date", "b051a0c80a8fa97a5d860394b5a3c5c75044a5c00a1a38768059adc732a2d5a1",
                "SignatureDoesNotMatch"
            ),
        ] as [(String, String, String?)])
    func theHostTheDateAndTheActionAreSigned(headers: String, signature: String, refusal: String?) throws {
        let tokens = try Tokens("ops 0123456789abcdef-ops produce\n")
        let body = ByteBuffer(string: "{\"QueueUrl\":\"orders\"}")
        let head = HTTPRequest(
            method: .post, scheme: "http", authority: "127.0.0.1:7700", path: "/",
            headerFields: [
                try #require(HTTPField.Name("X-Amz-Date")): "20260102T030405Z",
                try #require(HTTPField.Name("X-Amz-Target")): "AmazonSQS.ReceiveMessage",
                .authorization: "AWS4-HMAC-SHA256 Credential=ops/20260102/eu-west-1/sqs/aws4_request, "
                    + "SignedHeaders=\(headers), Signature=\(signature)",
            ])
        let request = Request(head: head, body: RequestBody(buffer: body))
        do {
            let signature = Signature(request)
            let signer = try signature.signer(tokens, now: Timestamp(microseconds: 1_767_323_045_000_000))
            #expect(try signature.verify(body: body, by: signer).name == "ops")
            #expect(refusal == nil)
        } catch {
            #expect(error.type == refusal)
        }
    }
}
