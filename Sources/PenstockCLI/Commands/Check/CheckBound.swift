import Penstock
import PenstockFormats

/// How grave what a check found is. The numbers are the exit statuses of plugins of Nagios, and the words theirs.
enum CheckState: Int, Comparable, Sendable {
    case ok = 0
    case warning = 1
    case critical = 2

    static func < (left: CheckState, right: CheckState) -> Bool { left.rawValue < right.rawValue }

    var word: String { "\(self)" }

    var shellStatus: ShellStatus {
        switch self {
        case .ok: .done
        case .warning: .finding
        case .critical: .withdrawn
        }
    }
}

/// How far a number may go: up to a bound, or down to one.
struct CheckBound: Sendable, Equatable {
    /// Beyond this one a warning is given; `nil`: none is.
    var warning: Int?
    /// Beyond this one it is critical.
    var critical: Int

    /// What a number is that may not be larger than the bounds.
    func state(ofMost value: Int) -> CheckState {
        if value > critical { return .critical }
        return warning.map { value > $0 } ?? false ? .warning : .ok
    }

    /// What a number is that may not be smaller than the bounds.
    func state(ofLeast value: Int) -> CheckState {
        if value < critical { return .critical }
        return warning.map { value < $0 } ?? false ? .warning : .ok
    }
}

extension CheckBound {
    /// Reads `CRITICAL` or `WARNING,CRITICAL`, each made into a number by `number`.
    ///
    /// - Throws: ``Failure``, and what `number` throws.
    init(_ text: String, _ number: (String) throws -> Int) throws {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (1...2).contains(words.count) else {
            throw Failure(.usage, "write one bound, or two with a comma between them: for a warning, and for critical.")
        }
        critical = try number(words[words.count - 1])
        warning = words.count == 2 ? try number(words[0]) : nil
    }
}

extension Values {
    /// Bounds that are whole numbers.
    @Sendable static func countBound(_ text: String) throws -> CheckBound {
        try CheckBound(text) { word in
            guard let count = Int(word), count >= 0 else { throw Failure(.usage, "a bound is a whole number from 0.") }
            return count
        }
    }

    /// Bounds that are durations, in whole seconds.
    @Sendable static func secondsBound(_ text: String) throws -> CheckBound {
        try CheckBound(text) { Int(try DurationText.parse($0) / .seconds(1)) }
    }
}
