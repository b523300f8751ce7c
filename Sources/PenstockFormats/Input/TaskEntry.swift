package import PenstockCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A task as somebody has written it into a file.
package struct TaskEntry: Decodable {
    private static let members: Set<String> = [
        "name", "queue", "payload", "payloadBase64", "headers", "priority", "delay", "at", "attempts", "group",
        "expires",
        "after",
    ]

    package var name: TaskName
    /// `nil`: the queue that the command line names.
    package var queue: QueueName?
    package var message: NewMessage
    package var dependencies: [Dependency]
    /// Whether its payload is no text, and is still to be taken as it was written.
    private var isPayloadJSON = false

    package init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Self.members, of: "A task")
        let name = try members.container.decode(String.self, forKey: MemberKey("name"))
        do {
            self.name = try TaskName(name)
            queue = try members.value("queue").map { try QueueName($0) }
            let payload = try Self.payload(members)
            isPayloadJSON = payload == nil
            message = NewMessage(
                payload: payload ?? [], headers: try members.value("headers") ?? [:],
                priority: try members.value("priority") ?? 0, due: try Self.due(members),
                attemptsMax: try members.value("attempts"), group: try members.value("group"),
                expiry: try (members.value("expires") as String?).map {
                    try ExpiryText.parse($0, now: SystemTime().now)
                })
            dependencies = (try members.value("after") as After?)?.dependencies ?? []
        } catch let error as PenstockError {
            throw PenstockError(.invalidInput, "The task '\(Escape.text(name))': \(error.message)")
        }
    }

    /// Takes a payload that is no text as it stands in the file: no decoder keeps all digits of its numbers, or a member that is
    /// there twice.
    ///
    /// - Parameter written: the task as somebody has written it.
    package mutating func takePayload(of written: ArraySlice<UInt8>) throws(PenstockError) {
        guard isPayloadJSON else { return }
        guard let payload = JSONSpans.member("payload", of: written) else {
            throw PenstockError(
                .invalidInput,
                "The task '\(Escape.text(name.text))': it has to have its \"payload\" once, and in UTF-8 without escapes in the name."
            )
        }
        message.payload = Array(payload)
    }

    /// The task as a store takes it.
    package func task(defaultQueue: QueueName?) throws(PenstockError) -> NewTask {
        guard let queue = queue ?? defaultQueue else {
            throw PenstockError(
                .invalidInput, "The task '\(Escape.text(name.text))' has no \"queue\"; give it one, or use --queue.")
        }
        return NewTask(name, queue: queue, message: message, dependencies: dependencies)
    }

    /// - Returns: `nil` for a payload that is no text.
    private static func payload(_ members: Members) throws -> [UInt8]? {
        let encoded: String? = try members.value("payloadBase64")
        guard let encoded else {
            // A payload that is null is the JSON null, and one that is left out is empty.
            guard members.has("payload") else { return [] }
            return try members.container.decode(AnyJSON.self, forKey: MemberKey("payload")).text.map { Array($0.utf8) }
        }
        guard !members.has("payload") else {
            throw PenstockError(.invalidInput, "it has a \"payload\" and a \"payloadBase64\"; leave one of them out.")
        }
        guard let bytes = Data(base64Encoded: encoded) else {
            throw PenstockError(.invalidInput, "its \"payloadBase64\" is not written in base64.")
        }
        return Array(bytes)
    }

    private static func due(_ members: Members) throws -> Due {
        let (delay, moment): (String?, String?) = (try members.value("delay"), try members.value("at"))
        switch (delay, moment) {
        case (nil, nil): return .now
        case (let delay?, nil): return .after(try DurationText.parse(delay))
        case (nil, let moment?): return .at(try TimeText.parse(moment, now: SystemTime().now))
        default: throw PenstockError(.invalidInput, "it has a \"delay\" and an \"at\"; leave one of them out.")
        }
    }

    /// What a task waits for: names, or objects that say more; or one of them alone.
    private struct After: Decodable {
        var dependencies: [Dependency]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                dependencies = [Dependency(on: try TaskName(name))]
            } else {
                dependencies = try container.decode([Entry].self).map(\.dependency)
            }
        }
    }

    private struct Entry: Decodable {
        var dependency: Dependency

        init(from decoder: any Decoder) throws {
            if let name = try? decoder.singleValueContainer().decode(String.self) {
                dependency = Dependency(on: try TaskName(name))
                return
            }
            let members = try Members(decoder, ["task", "need", "whenDead"], of: "What a task waits for")
            let task = try TaskName(members.container.decode(String.self, forKey: MemberKey("task")))
            let (need, whenDead): (String?, String?) = (try members.value("need"), try members.value("whenDead"))
            switch (need ?? "done", whenDead) {
            case ("ended", nil):
                dependency = Dependency(on: task, need: .ended)
            case ("done", let word):
                guard let whenDead = Dependency.WhenDead(rawValue: word ?? "cancel") else {
                    throw PenstockError(
                        .invalidInput, "\"whenDead\" is cancel or hold, not '\(Escape.text(word ?? ""))'.")
                }
                dependency = Dependency(on: task, need: .done(whenDead: whenDead))
            case ("ended", _?):
                throw PenstockError(.invalidInput, "\"whenDead\" goes with the need \"done\".")
            case (let other, _):
                throw PenstockError(.invalidInput, "\"need\" is done or ended, not '\(Escape.text(other))'.")
            }
        }
    }
}
