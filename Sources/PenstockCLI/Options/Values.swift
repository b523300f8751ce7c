import ArgumentParser
import Penstock
import PenstockFormats
import PenstockSchedules

/// A bound that may be `none`.
struct OrNone<Value: Sendable>: Sendable {
    /// `nil` when it is `none`.
    var value: Value?
}

/// Reads options' values. What is wrong is said in the words of the option's subject.
enum Values {
    @Sendable static func queue(_ text: String) throws -> QueueName { try QueueName(text) }
    @Sendable static func zone(_ text: String) throws -> ZoneName { try ZoneName(text) }
    @Sendable static func duration(_ text: String) throws -> Duration { try DurationText.parse(text) }
    @Sendable static func time(_ text: String) throws -> Timestamp { try TimeText.parse(text, now: SystemTime().now) }
    @Sendable static func expiry(_ text: String) throws -> Expiry { try ExpiryText.parse(text, now: SystemTime().now) }

    @Sendable static func limit(_ text: String) throws -> LimitName {
        if text == "none" { throw Failure(.usage, "'none' stands for no limit; choose another name.") }
        return try LimitName(text)
    }

    @Sendable static func sequence(_ text: String) throws -> SequenceNumber {
        guard let number = Int64(text), number > 0 else {
            throw Failure(.usage, "a sequence number is a whole number from 1.")
        }
        return SequenceNumber(number)
    }

    @Sendable static func countOrNone(_ text: String) throws -> OrNone<Int> {
        try orNone(text) { text in
            guard let count = Int(text) else { throw Failure(.usage, "write a whole number, or none.") }
            return count
        }
    }

    @Sendable static func durationOrNone(_ text: String) throws -> OrNone<Duration> { try orNone(text, duration) }
    @Sendable static func limitOrNone(_ text: String) throws -> OrNone<LimitName> { try orNone(text, limit) }

    /// A rate such as `100/1s`, or `none`.
    @Sendable static func rateOrNone(_ text: String) throws -> OrNone<Rate> { try orNone(text, RateText.parse) }

    private static func orNone<Value: Sendable>(
        _ text: String, _ parse: (String) throws -> Value
    ) throws -> OrNone<Value> {
        text == "none" ? OrNone() : OrNone(value: try parse(text))
    }

    @Sendable static func onDead(_ text: String) throws -> OnDead { try word(text, "next or hold") }
    @Sendable static func whenExpired(_ text: String) throws -> ExpiryPolicy { try word(text, "drop or dead") }
    @Sendable static func missed(_ text: String) throws -> MissedFirings { try word(text, "skip, one or all") }

    @Sendable static func conflict(_ text: String) throws -> KeyConflict {
        try word(text, "skip, replace, throttle or debounce")
    }

    private static func word<Value: RawRepresentable<String>>(_ text: String, _ words: String) throws -> Value {
        guard let value = Value(rawValue: text) else { throw Failure(.usage, "write \(words).") }
        return value
    }

    /// Kinds with commas between them.
    @Sendable static func kinds(_ text: String) throws -> Set<KindName> {
        var kinds: Set<KindName> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let kind = try KindName(String(word))
            guard kinds.insert(kind).inserted else {
                throw Failure(.usage, "the kind '\(Escape.text(kind.text))' is there twice; name each kind once.")
            }
        }
        return kinds
    }

    /// States with commas between them.
    @Sendable static func states(_ text: String) throws -> Set<MessageState> {
        var states: Set<MessageState> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let state = MessageState(rawValue: String(word)) else {
                let all = MessageState.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(.usage, "'\(Escape.text(String(word)))' is no state; the states are \(all).")
            }
            states.insert(state)
        }
        return states
    }

    @Sendable static func durability(_ text: String) throws -> Durability {
        switch text {
        case "power-loss", "powerLoss": .powerLoss
        case "process-crash", "processCrash": .processCrash
        default: throw Failure(.usage, "write power-loss or process-crash.")
        }
    }

    @Sendable static func whenFull(_ text: String) throws -> OverflowPolicy {
        guard let policy = OverflowPolicy.allCases.first(where: { [$0.word, $0.rawValue].contains(text) }) else {
            throw Failure(.usage, "write drop-newest, drop-oldest, fail or wait.")
        }
        return policy
    }

    @Sendable static func header(_ text: String) throws -> Header {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw Failure(.usage, "write a header as NAME=VALUE.")
        }
        return Header(name: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }

    struct Header: Sendable {
        var name: String
        var value: String
    }
}

extension [Values.Header] {
    /// Throws when two have the same name.
    func refuseRepeatedNames() throws {
        var names: Set<String> = []
        for header in self where !names.insert(header.name).inserted {
            throw ValidationError("The header '\(header.name)' is given twice.")
        }
    }

    var byName: [String: String] { Dictionary(uniqueKeysWithValues: map { ($0.name, $0.value) }) }
}

extension OverflowPolicy {
    /// The policy as people type it.
    var word: String {
        switch self {
        case .dropNewest: "drop-newest"
        case .dropOldest: "drop-oldest"
        case .fail: "fail"
        case .wait: "wait"
        }
    }
}
