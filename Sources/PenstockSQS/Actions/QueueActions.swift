import Foundation
import Hummingbird
import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Call {
    private static let tagCountMax = 50

    func createQueue() async throws -> Response {
        let input = try input(CreateQueueInput.self)
        guard let text = input.QueueName, !text.isEmpty else { throw Refusal.missing("QueueName") }
        let isFifo = text.hasSuffix(".fifo")
        guard (1...80).contains(text.utf8.count),
            (isFifo ? text.dropLast(5) : text[...]).utf8.allSatisfy({ $0.isLetterOrDigit || "-_".utf8.contains($0) }),
            let name = try? QueueName(text)
        else {
            throw Refusal.invalid(
                "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
        }
        let given = input.Attributes ?? [:]
        let attributes = try QueueAttributes.normalized(given, isFifo: isFifo)
        if isFifo, given["FifoQueue"] == nil {
            throw Refusal.invalid("The name of a queue that is no FIFO queue does not end with .fifo.")
        }
        let tags = try Self.checked(tags("tags", input.tags))
        // A caller that may do nothing with the queue hears the same whether it is there or not.
        if !mayAnything(name) { try requireMay(.operate, name) }
        if let existing = try await directory.find(name) {
            try await agree(existing, attributes, tags, isNew: false)
        } else {
            try requireMay(.operate, name)
            let redrive = try await checkedTarget(attributes["RedrivePolicy"], isFifo: isFifo)
            let policy = QueuePolicy(
                retry: RetryPolicy(attemptsMax: redrive?.receiveCountMax ?? Limits.attemptsRange.upperBound),
                groups: isFifo ? .fifo(onDead: .next) : nil)
            // The attributes come after it. Between the two, and after a crash there, it is a queue of which nobody has said
            // anything, and the same call says it.
            do {
                try await store.configure(name, .create(policy, ifAbsent: true))
            } catch let error as PenstockError where error.code == .queueDeleting {
                // Its deletion goes on, or was broken off and can be asked for again; the store says which.
                throw Refusal("QueueDeletedRecently", error.message)
            }
            try await agree(try await directory.read(name), attributes, tags, isNew: true)
        }
        return .amazonJSON(.object(["QueueUrl": .string(url(name))]))
    }

    /// Sees to it that a queue that is there has the attributes that are given.
    ///
    /// A queue of which no client has said anything yet takes them, as far as Penstock's own policy is none of them; of several
    /// clients at the same time one is first.
    private func agree(
        _ existing: QueueSettings, _ attributes: [String: String], _ tags: QueueTags, isNew: Bool
    ) async throws {
        func refusal(_ name: String) -> Refusal {
            Refusal(
                "QueueNameExists",
                "A queue already exists with the same name and a different value for attribute \(name)")
        }
        func refuse(_ settings: QueueSettings) throws(Refusal) {
            let has = settings.attributes(deadOfSources: 0, arn: "")
            for (name, value) in attributes.sorted(by: { $0.key < $1.key }) where has[name] ?? "" != value {
                if name == "RedrivePolicy", !value.isEmpty, let policy = settings.redrivePolicy,
                    policy.agrees(with: try RedrivePolicy(value))
                {
                    continue
                }
                throw refusal(name)
            }
        }
        if existing.name.text.hasSuffix(".fifo") != existing.isFifo { throw refusal("FifoQueue") }
        guard existing.version == nil else { return try refuse(existing) }
        if let text = attributes["RedrivePolicy"], !text.isEmpty,
            try RedrivePolicy(text).receiveCountMax != existing.policy.retry.attemptsMax
        {
            throw refusal("RedrivePolicy")
        }
        guard isNew || !attributes.isEmpty || !tags.isEmpty else { return }
        try requireMay(.operate, existing.name)
        if !isNew { _ = try await checkedTarget(attributes["RedrivePolicy"], isFifo: existing.isFifo) }
        var wasFirst = true
        try await directory.change(existing.name) { note in
            // Of several that make the queue at the same time, each with its own attributes, one is first.
            wasFirst = note == QueueNote()
            if !wasFirst { return }
            note.attributes = attributes.filter { !$0.value.isEmpty }
            note.tags = tags
        }
        if !wasFirst { try refuse(try await directory.read(existing.name)) }
    }

    /// The redrive policy that is given. Its dead-letter queue has to be there, and to be one into which the caller may put messages, or
    /// which it operates: others are told nothing of it.
    func checkedTarget(_ text: String?, isFifo: Bool) async throws -> RedrivePolicy? {
        guard let text, !text.isEmpty else { return nil }
        let policy = try RedrivePolicy(text)
        let target = try? QueueName(policy.target)
        if let target, !principal.may(.operate, target) { try requireMay(.produce, target) }
        guard let target, let found = try await directory.find(target) else {
            throw Refusal.invalid(
                "Value \(Escape.text(text)) for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist."
            )
        }
        guard found.isFifo == isFifo else {
            throw Refusal.invalid(
                "Value \(Escape.text(text)) for parameter RedrivePolicy is invalid. Reason: Dead-letter queue must be same type of "
                    + "queue as the source.")
        }
        return policy
    }

    func deleteQueue() async throws -> Response {
        let queue = try queue(input(QueueInput.self).QueueUrl, for: .operate)
        defer { directory.forget(queue) }
        try await store.configure(queue, .delete(force: true))
        return .amazonEmpty
    }

    /// Takes everything out of the line, what workers hold as well.
    func purgeQueue() async throws -> Response {
        let queue = try queue(input(QueueInput.self).QueueUrl, for: .operate)
        _ = try await directory.read(queue)
        // The dead letters that nobody has received from here yet are in their own queues, and count as messages of this one.
        let sources = try await directory.sources(of: queue, anew: true)
        try requireMayOperate(sources)
        _ = try await store.apply(.cancel, to: .queue(queue, states: [.scheduled, .blocked, .ready, .leased]))
        for source in sources.map(\.name) {
            _ = try await store.apply(.discard, to: .queue(source, states: [.dead]))
            directory.forget(source)
        }
        return .amazonEmpty
    }

    func getQueueURL() async throws -> Response {
        guard let name = try input(GetQueueUrlInput.self).QueueName, !name.isEmpty else {
            throw Refusal.missing("QueueName")
        }
        guard let queue = try? QueueName(name) else { throw Refusal.unknownQueue }
        if !mayAnything(queue) { try requireMay(.read, queue) }
        _ = try await directory.settings(of: queue)
        return .amazonJSON(.object(["QueueUrl": .string(url(queue))]))
    }

    func listQueues() async throws -> Response {
        let input = try input(ListQueuesInput.self)
        let names = try await directory.all(anew: true).map(\.name).filter {
            mayAnything($0) && $0.text.utf8.starts(with: (input.QueueNamePrefix ?? "").utf8)
        }
        return try page(names, "QueueUrls", input.MaxResults, input.NextToken, isAlwaysThere: false)
    }

    func listDeadLetterSourceQueues() async throws -> Response {
        let input = try input(QueueInput.self)
        let queue = try queue(input.QueueUrl, for: .read)
        _ = try await directory.read(queue)
        let names = try await directory.sources(of: queue, anew: true).map(\.name).filter(mayAnything)
        return try page(names, "queueUrls", input.MaxResults, input.NextToken, isAlwaysThere: true)
    }

    /// A page of queues' URLs, and where the next one begins if the client has asked for pages.
    private func page(
        _ names: [QueueName], _ member: String, _ countMax: Int?, _ token: String?, isAlwaysThere: Bool
    ) throws -> Response {
        if let countMax { try Refusal.require("MaxResults", countMax, in: 1...1000) }
        var names = names.sorted()[...]
        if let token {
            guard let data = Data(base64Encoded: token),
                let last = try? QueueName(String(decoding: data, as: UTF8.self))
            else { throw Refusal.invalid("Invalid or expired next token.") }
            names = names.drop { $0 <= last }
        }
        let page = names.prefix(countMax ?? 1000)
        var members: [JSONValue.Member] = []
        if isAlwaysThere || !page.isEmpty {
            members.append(.init(key: member, value: .array(page.map { .string(url($0)) })))
        }
        if countMax != nil, page.count < names.count, let last = page.last {
            members.append(.init(key: "NextToken", value: .string(Base64.encode(Array(last.text.utf8)))))
        }
        return .amazonJSON(.object(members))
    }

    // MARK: Tags

    func tagQueue() async throws -> Response {
        let input = try input(TagsInput.self)
        let queue = try queue(input.QueueUrl, for: .operate)
        let tags = tags("Tags", input.Tags)
        guard !tags.isEmpty else { throw Refusal.missing("Tags") }
        try await directory.change(queue) { note in
            note.tags = try Self.checked(note.tags.merging(tags))
        }
        return .amazonEmpty
    }

    func untagQueue() async throws -> Response {
        let input = try input(TagsInput.self)
        let queue = try queue(input.QueueUrl, for: .operate)
        guard let keys = input.TagKeys, !keys.isEmpty else { throw Refusal.missing("TagKeys") }
        try await directory.change(queue) { note in
            for key in keys { note.tags[key] = nil }
        }
        return .amazonEmpty
    }

    func listQueueTags() async throws -> Response {
        let queue = try queue(input(QueueInput.self).QueueUrl, for: .read)
        let tags = try await directory.read(queue).note.tags
        return .amazonJSON(tags.isEmpty ? .object([]) : .object(["Tags": tags.json]))
    }

    private static func checked(_ tags: QueueTags) throws(Refusal) -> QueueTags {
        let all = tags.all
        guard all.count <= tagCountMax,
            all.allSatisfy({ (1...128).contains($0.name.count) && $0.value.count <= 256 })
        else {
            throw .invalid(
                "A queue has at most \(tagCountMax) tags, with keys of 1 to 128 characters and values of 256.")
        }
        return tags
    }
}
