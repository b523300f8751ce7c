import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Lease {
    /// The members by which a worker names it.
    static let members: Set<String> = ["sequence", "token"]

    /// The lease as a worker has written it.
    init(_ members: Members) throws {
        let sequence: Int64 = try members.required("sequence")
        let token: String = try members.required("token")
        guard sequence > 0, let number = Int64(token) else {
            throw PenstockError(
                .invalidInput,
                "A lease is named by the message's \"sequence\" and, as text, the \"token\" of its claim.")
        }
        self.init(sequence: SequenceNumber(sequence), token: LeaseToken(rawValue: number))
    }
}

/// A verdict, as a worker has written it.
struct SettlementEntry: Decodable {
    private static let members = Lease.members.union([
        "verdict", "result", "resultBase64", "then", "error", "reason", "after", "holdsGroup", "until", "event",
    ])

    private var lease: Lease
    private var verdict: Verdict
    private var result: PayloadEntry?
    private(set) var drafts: [DraftEntry]

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Self.members, of: "A settlement")
        lease = try Lease(members)
        let word: String = try members.required("verdict")
        verdict = try Self.verdict(word, members)
        let own: Set<String> =
            switch word {
            case "done": ["result", "resultBase64", "then"]
            case "retry": ["error", "after", "holdsGroup"]
            case "dead": ["error", "reason"]
            case "suspend": ["after", "until", "event"]
            default: []
            }
        for name in Self.members.subtracting(Lease.members).subtracting(own).subtracting(["verdict"]).sorted()
        where members.has(name) {
            throw PenstockError(.invalidInput, "The verdict \(Escape.excerpt(word)) has no \"\(name)\".")
        }
        result = members.has("result") || members.has("resultBase64") ? try PayloadEntry(members, "result") : nil
        drafts = (try members.value("then") as BoundedArray<DraftEntry>?)?.elements ?? []
    }

    /// The settlement as a store takes it.
    ///
    /// - Parameter written: the entry as the worker has written it: what is no text is taken as it stands.
    func settlement(_ written: ArraySlice<UInt8>) throws(PenstockError) -> Settlement {
        var result = result
        try result?.take(from: written)
        var made: [Draft] = []
        if !drafts.isEmpty {
            let spans = JSONSpans.member("then", of: written).flatMap(JSONSpans.elements)
            guard let spans, spans.count == drafts.count else {
                throw PenstockError(.invalidInput, "A settlement has its \"then\" once, and in UTF-8.")
            }
            for (draft, span) in zip(drafts, spans) { made.append(try draft.draft(span)) }
        }
        return Settlement(lease, verdict, result: result?.bytes, drafts: made)
    }

    private static func verdict(_ word: String, _ members: Members) throws -> Verdict {
        switch word {
        case "done": return .done
        case "retry":
            return .retry(
                error: try members.value("error") ?? "", after: try members.duration("after"),
                holdsGroup: try members.value("holdsGroup") ?? false)
        case "dead":
            return .dead(error: try members.value("error") ?? "", reason: try members.value("reason") ?? .rejected)
        case "release": return .release
        case "suspend":
            let now = SystemTime().now
            let after = try members.duration("after").map { now + $0 }
            let until = try (members.value("until") as String?).map { try TimeText.parse($0, now: now) }
            let event: EventName? = try members.value("event")
            guard let moment = after ?? until, after == nil || until == nil else {
                throw PenstockError(.invalidInput, "A suspend has \"after\", how long, or \"until\", a moment.")
            }
            return .suspend(until: moment, event: event)
        default:
            throw PenstockError(
                .invalidInput,
                "'\(Escape.excerpt(word))' is no verdict; the verdicts are done, retry, dead, release and suspend.")
        }
    }
}

/// A message that goes in line as another one is done.
struct DraftEntry: Decodable {
    private static let members = MessageEntry.members.union(["queue", "kind"])

    let queue: QueueName
    private let entry: MessageEntry

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Self.members, of: "A message that follows")
        queue = try members.required("queue")
        entry = try MessageEntry(members, now: SystemTime().now)
        try ReservedKeys.refuse(entry.message.uniqueKey)
    }

    /// The draft, its payload taken as it was written.
    func draft(_ written: ArraySlice<UInt8>) throws(PenstockError) -> Draft {
        var entry = entry
        try entry.takePayload(of: written)
        return Draft(entry.message, to: queue)
    }
}
