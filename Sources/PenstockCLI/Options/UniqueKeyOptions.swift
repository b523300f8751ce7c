import ArgumentParser
import Penstock
import PenstockFormats

/// The unique key of a message that is enqueued now.
struct UniqueKeyOptions: ParsableArguments {
    @Option(help: .init("A key; no message comes in line while another one has it.", valueName: "text"))
    var key: String?

    @OptionGroup var scopeOptions: KeyScopeOptions

    @Option(
        help: .init(
            "With --key: skip this message, or replace the waiting one that has the key, at its own due time, at that of the "
                + "other (throttle), or as late as its own delay says each time (debounce).",
            valueName: "what"),
        completion: .list(KeyConflict.allCases.map(\.rawValue)), transform: Values.conflict)
    var ifExists: KeyConflict?

    @Option(
        help: .init(
            "With --if-exists debounce: the longest that the work is put off since the first message.",
            valueName: "duration"),
        transform: Values.duration)
    var debounceMax: Duration?

    func validate() throws {
        if key == nil, scopeOptions.keyScope != nil { throw ValidationError("--key-scope goes with --key.") }
        if key == nil, ifExists != nil { throw ValidationError("--if-exists goes with --key.") }
        if ifExists != .debounce, debounceMax != nil {
            throw ValidationError("--debounce-max goes with --if-exists debounce.")
        }
    }

    /// The key that they name; `nil`: none.
    var uniqueKey: UniqueKey? {
        key.map {
            UniqueKey(
                $0, scope: scopeOptions.keyScope ?? .untilEnded, onConflict: ifExists ?? .skip, waitMax: debounceMax)
        }
    }
}

/// How long a unique key keeps others out, whether its message is enqueued now or by a schedule.
struct KeyScopeOptions: ParsableArguments {
    @Option(
        help: .init(
            "How long the message has its key: until-ended (which it is without this), while-waiting, or for a period such as "
                + "10m, whatever becomes of it.",
            valueName: "scope"),
        completion: .list(["until-ended", "while-waiting"]), transform: Values.keyScope)
    var keyScope: KeyScope?
}

extension Values {
    @Sendable static func keyScope(_ text: String) throws -> KeyScope {
        guard let scope = try? KeyScopeText.parse(text) else {
            throw Failure(.usage, "write until-ended, while-waiting, or a period such as 10m.")
        }
        return scope
    }
}
