import ArgumentParser
import Penstock

/// What travels with a message, whether it is enqueued now or by a schedule.
struct EnvelopeOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: .init("Higher ones are claimed first: -100 to 100.", valueName: "number"))
    var priority = 0

    @Option(help: .init("Attempts it is allowed; else what the queue's policy says.", valueName: "count"))
    var attempts: Int?

    @Option(
        help: .init("The key of its group, in a queue with groups; see `penstock queue set`.", valueName: "key"))
    var group: String?

    @Option(
        parsing: .unconditional,
        help: .init(
            "Until when it may start: how long from now, such as 10m, or a time. A schedule's messages take how long.",
            valueName: "duration|time"),
        transform: Values.expiry)
    var expires: Expiry?

    @Option(
        name: .customLong("header"),
        help: .init("A name and a value that travel with it. May be repeated.", valueName: "name=value"),
        transform: Values.header)
    var headers: [Values.Header] = []

    @Option(
        help: .init("What it is, for workers that choose by that (`work --kinds`).", valueName: "kind"),
        transform: { try KindName($0) })
    var kind: KindName?

    func validate() throws {
        if kind != nil, headers.contains(where: { $0.name == KindName.header }) {
            throw ValidationError("--kind sets the header \(KindName.header); leave one of them out.")
        }
        try headers.refuseRepeatedNames()
    }

    func message(_ payload: [UInt8], due: Due = .now, key: UniqueKey?) -> NewMessage {
        var headers = headers.byName
        if let kind { headers[KindName.header] = kind.text }
        return NewMessage(
            payload: payload, headers: headers, priority: priority, due: due, attemptsMax: attempts, uniqueKey: key,
            group: group, expiry: expires)
    }
}

/// A message that is enqueued now: what travels with it, and when it is due.
struct MessageOptions: ParsableArguments {
    @OptionGroup var envelope: EnvelopeOptions

    @Option(
        parsing: .unconditional, help: .init("How long from now it is due.", valueName: "duration"),
        transform: Values.duration)
    var delay: Duration?

    @Option(
        parsing: .unconditional, help: .init("When it is due.", valueName: "time"), transform: Values.time)
    var at: Timestamp?

    func validate() throws {
        if delay != nil && at != nil { throw ValidationError("--delay and --at exclude each other.") }
    }

    func message(_ payload: [UInt8], key: UniqueKey? = nil) -> NewMessage {
        let due: Due = if let delay { .after(delay) } else if let at { .at(at) } else { .now }
        return envelope.message(payload, due: due, key: key)
    }
}
