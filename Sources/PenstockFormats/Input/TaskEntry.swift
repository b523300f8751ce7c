package import PenstockCore

/// A task as somebody has written it into a file.
package struct TaskEntry: Decodable {
    private static let members = MessageEntry.members.union(["name", "queue", "after"])

    package var name: TaskName
    /// `nil`: the queue that the command line names.
    package var queue: QueueName?
    package var message: NewMessage { entry.message }
    package var dependencies: [Dependency]
    private var entry: MessageEntry

    package init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Self.members, of: "A task")
        let name: String = try members.required("name")
        do {
            self.name = try TaskName(name)
            queue = try members.value("queue").map { try QueueName($0) }
            entry = try MessageEntry(members, now: SystemTime().now)
            dependencies = (try members.value("after") as After?)?.dependencies ?? []
        } catch let error as PenstockError {
            throw PenstockError(.invalidInput, "The task '\(Escape.excerpt(name))': \(error.message)")
        }
    }

    /// Takes a payload that is no text as it stands in the file; see ``PayloadEntry/take(from:)``.
    ///
    /// - Parameter written: the task as somebody has written it.
    package mutating func takePayload(of written: ArraySlice<UInt8>) throws(PenstockError) {
        do {
            try entry.takePayload(of: written)
        } catch {
            throw PenstockError(.invalidInput, "The task '\(Escape.text(name.text))': \(error.message)")
        }
    }

    /// The task as a store takes it.
    package func task(defaultQueue: QueueName?) throws(PenstockError) -> NewTask {
        guard let queue = queue ?? defaultQueue else {
            throw PenstockError(
                .invalidInput, "The task '\(Escape.text(name.text))' has no \"queue\"; give it one, or use --queue.")
        }
        return NewTask(name, queue: queue, message: message, dependencies: dependencies)
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
            let task = try TaskName(members.required("task") as String)
            let (need, whenDead): (String?, String?) = (try members.value("need"), try members.value("whenDead"))
            switch (need ?? "done", whenDead) {
            case ("ended", nil):
                dependency = Dependency(on: task, need: .ended)
            case ("done", let word):
                guard let whenDead = Dependency.WhenDead(rawValue: word ?? "cancel") else {
                    throw PenstockError(
                        .invalidInput, "\"whenDead\" is cancel or hold, not '\(Escape.excerpt(word ?? ""))'.")
                }
                dependency = Dependency(on: task, need: .done(whenDead: whenDead))
            case ("ended", _?):
                throw PenstockError(.invalidInput, "\"whenDead\" goes with the need \"done\".")
            case (let other, _):
                throw PenstockError(.invalidInput, "\"need\" is done or ended, not '\(Escape.excerpt(other))'.")
            }
        }
    }
}
