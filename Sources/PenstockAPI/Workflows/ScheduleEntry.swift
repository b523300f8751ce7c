import PenstockCore
import PenstockFormats
import PenstockHTTP

/// A schedule as somebody has written it, in the members that it is shown with.
struct ScheduleEntry: Decodable {
    private static let members: Set<String> = [
        "queue", "spec", "zone", "missed", "windowSeconds", "jitterSeconds", "starts", "ends", "priority",
        "attemptsMax",
        "group", "expiresSeconds", "uniqueKey", "keyScope", "keyPeriodSeconds", "payload", "payloadBase64", "headers",
    ]

    private var shape: Schedule
    private var payload: PayloadEntry

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Self.members, of: "A schedule")
        payload = try PayloadEntry(members)
        let now = SystemTime().now
        func moment(_ name: String) throws -> Timestamp? {
            try (members.value(name) as String?).map { try TimeText.parse($0, now: now) }
        }
        let message = NewMessage(
            payload: [], headers: try members.value("headers") ?? [:], priority: try members.value("priority") ?? 0,
            attemptsMax: try members.value("attemptsMax"), uniqueKey: try Self.uniqueKey(members),
            group: try members.value("group"), expiry: try members.duration("expiresSeconds").map { .after($0) })
        try ReservedKeys.refuse(message.uniqueKey)
        shape = Schedule(
            queue: try members.required("queue"), spec: try members.required("spec"),
            zone: try members.value("zone") ?? "UTC", message: message, missed: try members.value("missed") ?? .one,
            window: try members.duration("windowSeconds") ?? .seconds(86_400),
            jitter: try members.duration("jitterSeconds") ?? .zero, starts: try moment("starts"),
            ends: try moment("ends"))
    }

    /// The schedule as a store takes it, its payload as it was written.
    func schedule(_ written: ArraySlice<UInt8>) throws(PenstockError) -> Schedule {
        var (payload, schedule) = (payload, shape)
        try payload.take(from: written)
        schedule.message.payload = payload.bytes
        return schedule
    }

    private static func uniqueKey(_ members: Members) throws -> UniqueKey? {
        let scope: String? = try members.value("keyScope")
        let period = try members.duration("keyPeriodSeconds")
        guard let key: String = try members.value("uniqueKey") else {
            try require(scope == nil && period == nil, "\"keyScope\" and \"keyPeriodSeconds\" go with a \"uniqueKey\".")
            return nil
        }
        switch (scope, period) {
        case (nil, nil), ("untilEnded", nil): return UniqueKey(key)
        case ("whileWaiting", nil): return UniqueKey(key, scope: .whileWaiting)
        case (nil, let period?), ("period", let period?): return UniqueKey(key, scope: .period(period))
        default:
            throw PenstockError(
                .invalidInput, "\"keyScope\" is untilEnded, whileWaiting, or period with \"keyPeriodSeconds\".")
        }
    }
}
