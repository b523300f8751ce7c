import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/dead`: dead letters in groups that failed in the same way, and what may be done to a group.
struct DeadLetterPages {
    /// Dead letters that one page puts into groups.
    private static let lookCountMax = 20_000

    func add(to routes: Routes) {
        routes.get("/dead", show)
        routes.post("/dead/redrive", move(.redrive, "redrive", "back in line"))
        routes.post("/dead/discard", move(.discard, "discard", "discarded"))
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let query = try visit.query(["queue", "preceding"])
        let queue: QueueName? = try query.name("queue")
        let preceding = try query.sequence("preceding")
        var fields: Fields = ["queueShown": queue?.text ?? ""]
        if queue == nil, !visit.mayRead(nil) {
            fields["needsQueue"] = true
            return visit.page("dead", "Dead letters", in: .dead, fields)
        }
        if let queue { try visit.principal.require(.read, queue) }
        let page = try await visit.site.store.storage.deadGroups(
            DeadGroupQuery(queue: queue, preceding: preceding, lookMax: Self.lookCountMax))
        fields["lookedAt"] = CountText.format(page.lookedAt, "dead letter")
        // Letters of a group may be among those that were not looked at.
        let isPart = page.next != nil || preceding != nil
        let place = Link.page("/dead", ["queue": queue?.text, "preceding": preceding.map { "\($0)" }])
        fields["groups"] = page.groups.map { row($0, isPart: isPart, place, visit) }
        if preceding != nil {
            fields["isOlder"] = true
            fields["newest"] = Link.page("/dead", ["queue": queue?.text])
        }
        fields["hasGroups"] = !page.groups.isEmpty
        if let next = page.next {
            fields["isCut"] = true
            fields["countMax"] = Shown.count(page.lookedAt)
            fields["older"] = Link.page("/dead", ["queue": queue?.text, "preceding": "\(next)"])
        }
        return visit.page("dead", "Dead letters", in: .dead, following: queue.map { .queue($0) } ?? .all, fields)
    }

    private func row(_ group: DeadGroup, isPart: Bool, _ place: String, _ visit: Visit) -> Fields {
        var fields: Fields = [
            "queue": group.queue.text, "queueLink": Link.page("/dead", ["queue": group.queue.text]),
            "reason": group.signature.reason?.rawValue ?? "", "error": group.signature.error,
            "count": Shown.count(group.count), "isPart": isPart, "key": "\(group.queue) \(Self.mark(group.signature))",
            "first": Shown.time(group.firstAt, visit.now), "last": Shown.time(group.lastAt, visit.now),
            "example": "\(group.example)", "exampleLink": Link.message(group.example),
        ]
        if visit.mayAct(.operate, group.queue) {
            fields["act"] =
                [
                    "expected": isPart ? "" : "\(group.count)", "shown": Self.mark(group.signature), "place": place,
                ] as Fields
        }
        return fields
    }

    /// The page that the form was on; no other place is led to.
    private static func place(_ text: String?) -> String {
        guard let text, text.hasPrefix("/dead?"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "/dead"
        }
        return text
    }

    /// What tells one way to fail from another. The error itself may have characters in it that a page cannot give back.
    private static func mark(_ signature: ErrorSignature) -> String {
        Base64.encode(Array("\(signature.reason?.rawValue ?? "")\n\(signature.error)".utf8))
    }

    /// Moves the group that a message is in, if the message still fails as it was shown: meanwhile somebody may have put it back in
    /// line, and it may have died of something else.
    private func move(_ command: LineCommand, _ word: String, _ outcome: String) -> Routes.Show {
        { visit in
            let form = try await visit.form(["queue", "example", "shown", "expected", "place"])
            guard let queue: QueueName = try form.name("queue"), let example = try form.sequence("example"),
                let shown = form.text("shown")
            else {
                throw Problem.invalid("A group is named by its queue and a message, with the error that was shown.")
            }
            // The visitor who redrives has mended the cause, and wants back in line what has failed of it meanwhile, too.
            let expected = command == .redrive ? nil : try form.count("expected", in: 0...Int.max)
            try visit.principal.require(.read, queue)
            let said = try await visit.act(
                "\(word) group", on: "the group of message \(example) in \(queue)", queue: queue, .operate
            ) {
                let record = try await visit.site.store.message(example)
                guard record.queue == queue, let signature = record.errorSignature else {
                    throw PenstockError(
                        .illegalTransition, "Message \(example) is no dead letter any more; look at the groups again.")
                }
                guard Self.mark(signature) == shown else {
                    throw PenstockError(
                        .selectionChanged,
                        "Message \(example) has failed in another way since; nothing was moved. Look at the groups again."
                    )
                }
                let count = try await visit.site.store.storage.apply(
                    command,
                    to: .queue(
                        queue, states: [.dead], matching: MessageFilter(signature: signature), expected: expected))
                return "\(CountText.format(count, "dead letter")) \(outcome): \(Escape.line(signature.error))"
            }
            return visit.redirect(to: Self.place(form.text("place")), saying: said)
        }
    }
}
