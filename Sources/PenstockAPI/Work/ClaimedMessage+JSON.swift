import PenstockCore
import PenstockFormats
import PenstockHTTP

extension RemoteClaim.Claimed {
    /// The message as JSON, in the members that a message has elsewhere. The token is text: it has 63 bits, and JavaScript keeps 53.
    var json: JSONValue {
        .object([
            .init(key: "sequence", value: .integer(message.lease.sequence.rawValue)),
            .init(key: "token", value: .string(String(message.lease.token.rawValue))),
            .init(key: "queue", value: .string(queue.text)),
            .init(key: "attempt", value: .integer(message.attempt)),
            .init(key: "priority", value: .integer(message.priority)),
            .init(key: "enqueuedAt", value: .time(message.enqueuedAt)),
            .init(key: "group", value: .optional(message.group) { .string($0) }),
            .init(key: "headers", value: .texts(message.headers)),
            .init(key: "origin", value: .optional(message.origin) { .integer($0.rawValue) }),
            .init(key: "workflow", value: .optional(message.task) { .string($0.workflow.text) }),
            .init(key: "task", value: .optional(message.task) { .string($0.task.text) }),
            .payload(message.payload),
        ])
    }
}
