import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// What a server acknowledges is on the disk, by whichever door it came.
@Suite(.timeLimit(.minutes(5))) struct AcknowledgedTests {
    private let asked = NotingStore(TestDatabase().open())

    @Test func whatAmazonsClientsSendAndReceive() async throws {
        try await TestServer.run(store: PenstockStore(asked)) { server in
            let dead = try await server.sqsQueue("dead")
            let mail = try await server.sqsQueue("mail", withDeadLettersIn: "dead")
            _ = asked.take()
            try await server.sqs("SendMessage", ["QueueUrl": mail, "MessageBody": "a"])
            #expect(asked.take() == ["enqueue powerLoss"])
            let entries = [["Id": "b", "MessageBody": "b"], ["Id": "c", "MessageBody": "c"]]
            try await server.sqs("SendMessageBatch", ["QueueUrl": mail, "Entries": entries])
            #expect(asked.take() == ["enqueue powerLoss"])
            // A dead letter that is received is a message of the other queue from then on.
            #expect(try await server.sqsFail(mail).count == 3)
            #expect(try await server.sqsReceive(dead).count == 1)
            #expect(Set(asked.take()) == ["enqueue powerLoss"])
        }
    }

    @Test func messagesWorkflowsAndEventsOverHTTP() async throws {
        let store = PenstockStore(asked)
        _ = try await store.queue("q")
        try await TestServer.run(store: store) { server in
            let sequence = try await server.put("x")
            #expect(asked.take() == ["enqueue powerLoss"])
            let body = #"{"name":"w","tasks":[{"name":"t"}]}"#
            // A second start says of the first one that it is there.
            for status in [201, 200] {
                #expect(try await server.send("POST", "/v1/workflows?queue=q", body).status == status)
                #expect(asked.take() == ["start powerLoss"])
            }
            for path in ["/v1/workflows/w/events/e", "/v1/messages/\(sequence)/events/e"] {
                #expect(try await server.send("POST", path, "now").json()["isFirst"] as? Bool == true)
                #expect(asked.take() == ["emit powerLoss"], "\(path)")
            }
        }
    }

    /// With what is written down of it, before and after.
    @Test func whatIsEnqueuedByHand() async throws {
        let store = PenstockStore(asked)
        _ = try await store.queue("mail")
        try await TestServer.run(store: store) { server in
            let answer = try await server.submit("/queues/mail/enqueue", ["payload": "a"])
            #expect(answer.status == 303)
            #expect(Set(asked.take()) == ["append powerLoss", "enqueue powerLoss"])
        }
    }
}
