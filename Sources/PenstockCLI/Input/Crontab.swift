import Penstock
import PenstockSchedules

/// A crontab, read as cron reads it: what can be a schedule, and what cannot.
///
/// The form is that of crontab(5): comments, settings such as `PATH=/bin`, and entries of five fields or a short form, with
/// the user behind them in a system's crontab.
struct Crontab {
    struct Entry {
        /// Where it is in the file, from 1.
        var lineNumber: Int
        /// When it fires; `nil` when it cannot be a schedule.
        var spec: ScheduleSpec?
        var zone: ZoneName
        /// A script for `sh`: the settings before the entry, and its command.
        var script: String
        /// What cron does and a schedule does not.
        var notes: [String] = []
        /// Why it cannot be a schedule.
        var problem: String?
    }

    private(set) var entries: [Entry] = []
    private let hasUsers: Bool
    private var settings: [(name: String, value: String)] = []
    private var zone = ZoneName.utc
    /// What cron does for a setting and a schedule does not, by the setting that is in force.
    private var notes: [(name: String, text: String)] = []

    /// - Parameters:
    ///   - hasUsers: whether the sixth column is a user, as in /etc/crontab.
    ///   - zone: the zone of entries before any `CRON_TZ`.
    init(_ text: String, hasUsers: Bool, zone: ZoneName) {
        self.hasUsers = hasUsers
        self.zone = zone
        // A line feed behind a carriage return is one character with it.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.isEmpty || line.hasPrefix("#") { continue }
            if !takeSetting(line) { entries.append(entry(line, number: index + 1)) }
        }
    }

    /// Takes a line such as `PATH=/bin`; false when it is none.
    private mutating func takeSetting(_ line: Substring) -> Bool {
        let name = line.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        let rest = line.dropFirst(name.count).drop { $0 == " " || $0 == "\t" }
        guard let first = name.first, !first.isNumber, rest.first == "=" else { return false }
        var value = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" || value.last == "\r" { value.removeLast() }
        for quote in ["'", "\""] as [Character] where value.count > 1 && value.first == quote && value.last == quote {
            value = value.dropFirst().dropLast()
        }
        // A later line takes an earlier one back.
        notes.removeAll { $0.name == name }
        func note(_ text: String) { notes.append((String(name), text)) }
        switch name {
        case "CRON_TZ":
            guard let named = try? ZoneName(String(value)) else {
                note("CRON_TZ=\(value) is no time zone")
                return true
            }
            zone = named
        case "MAILTO", "MAILFROM":
            if !value.isEmpty { note("\(name): nothing is mailed; output goes where the worker's goes") }
        case "SHELL": if value != "/bin/sh" { note("SHELL: the command runs by sh") }
        case "RANDOM_DELAY": if !value.isEmpty, value != "0" { note("RANDOM_DELAY: use --jitter") }
        default:
            settings.removeAll { $0.name == name }
            settings.append((String(name), String(value)))
        }
        return true
    }

    private func entry(_ line: Substring, number: Int) -> Entry {
        var entry = Entry(lineNumber: number, zone: zone, script: "", notes: notes.map(\.text))
        var rest = line
        let fieldCount = line.hasPrefix("@") ? 1 : 5
        var fields: [Substring] = []
        for _ in 0..<fieldCount + (hasUsers ? 1 : 0) {
            let field = rest.prefix { $0 != " " && $0 != "\t" }
            rest = rest.dropFirst(field.count).drop { $0 == " " || $0 == "\t" }
            fields.append(field)
        }
        if hasUsers, let user = fields.popLast() { entry.notes.append("it runs as the worker's user, not as \(user)") }
        while rest.last == "\r" { rest.removeLast() }
        if rest.isEmpty {
            entry.problem = "there is no command"
            return entry
        }
        do {
            entry.spec = try ScheduleSpec(fields.joined(separator: " "))
        } catch {
            entry.problem = error.message
            return entry
        }
        guard let command = Crontab.command(rest) else {
            entry.spec = nil
            entry.problem =
                "what stands behind % is the command's input, which a schedule has not; write it as a here-document"
            return entry
        }
        let exports = settings.map { "export \($0.name)=\(Crontab.quoted($0.value))\n" }
        entry.script = exports.joined() + command + "\n"
        return entry
    }

    /// The command with `\%` as `%`; `nil` when a bare % gives it input.
    private static func command(_ text: Substring) -> String? {
        var command = ""
        var isEscaped = false
        for character in text {
            if character == "%" {
                guard isEscaped else { return nil }
                command.removeLast()
            }
            command.append(character)
            isEscaped = character == "\\"
        }
        return command
    }

    private static func quoted(_ value: String) -> String {
        "'" + value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
