/// The exit statuses of `penstock`, after `sysexits.h`. This is the one list of them; `penstock --help` prints it.
enum ShellStatus: Int32, CaseIterable {
    case done = 0
    case finding = 1
    case withdrawn = 2
    case unknown = 3
    case usage = 64
    case data = 65
    case missing = 66
    case unavailable = 69
    case software = 70
    case cannotCreate = 73
    case inputOutput = 74
    case temporary = 75
    case outcomeUnknown = 76
    case permission = 77
    case configuration = 78
    case cannotRun = 126
    case commandNotFound = 127
    case interrupted = 130
    case terminated = 143

    var meaning: String {
        switch self {
        case .done: "done; for `work` also: stopped by a signal, with every message settled or given back"
        case .finding:
            "`doctor` found something that fails, or `schedule import` something that cannot be a schedule; `enqueue --wait`: the message is a dead letter; `check`: a warning"
        case .withdrawn: "`enqueue --wait`: the message was cancelled or dropped; `check`: critical"
        case .unknown: "`check`: nothing can be said, as the arguments are wrong or the file cannot be read"
        case .usage:
            "wrong arguments or input beyond a limit; nothing was done, but for the lines that `enqueue --lines` had read before it"
        case .data: "the file is damaged, or is no database of Penstock's"
        case .missing: "no such file, queue, message, schedule, limit, workflow or task"
        case .unavailable:
            "the queue is full and its policy is `fail`, or it is being deleted; or all queues have moved to another store; or the server cannot be reached"
        case .software: "an error in Penstock itself"
        case .cannotCreate: "the file, the queue or the schedule cannot be made"
        case .inputOutput: "reading or writing failed, for example because the disk is full"
        case .temporary: "busy, or timed out; the same command may work later"
        case .outcomeUnknown:
            "nobody knows whether it was done, or it was and the answer cannot be written; look before you run it again (with --key it is safe while the first one waits or runs)"
        case .permission:
            "the file, or its folder, cannot be written; or the server asks for a token that may do this, or its socket is another user's"
        case .configuration:
            "the file's schema is newer than this program, or older than it reads, or the server is of another release"
        case .cannotRun: "`work`: the command is there but cannot be run"
        case .commandNotFound: "`work`: the command was not found; nothing was claimed"
        case .interrupted: "stopped at once by a second SIGINT"
        case .terminated: "stopped at once by a second SIGTERM"
        }
    }

    /// The list for people. A meaning that is too long for a line goes on beneath itself.
    static var table: String {
        allCases.map { status in
            let code = String(status.rawValue)
            var lines = ["  \(code)\(String(repeating: " ", count: 5 - code.count))"]
            let indent = String(repeating: " ", count: 7)
            for word in status.meaning.split(separator: " ") {
                let isFirst = lines[lines.count - 1].count == indent.count
                if isFirst {
                    lines[lines.count - 1] += word
                } else if lines[lines.count - 1].count + 1 + word.count > columnsMax {
                    lines.append(indent + word)
                } else {
                    lines[lines.count - 1] += " " + word
                }
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// The parser breaks longer lines, where they end.
    private static let columnsMax = 79
}
