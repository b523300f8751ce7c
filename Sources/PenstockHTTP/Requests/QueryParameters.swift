import Foundation
package import Hummingbird
package import PenstockCore
import PenstockFormats

/// The parameters behind the question mark of a request. Each is there once at most and has a bound, and one that nobody has
/// asked for is refused: a slip of the hand must not be taken for nothing.
package struct QueryParameters {
    private var values: [String: String] = [:]

    /// - Parameter known: the names that the request may have.
    /// - Throws: a problem with status 400 that names the parameter; or says that one cannot be read.
    package init(_ request: Request, known: Set<String>) throws(Problem) {
        // Hummingbird takes a value that it cannot read as it stands.
        if let query = request.uri.query {
            let isEscaped = query.utf8.contains(UInt8(ascii: "%"))
            guard !query.hasReplacements, !isEscaped || query.removingPercentEncoding != nil else {
                throw Problem.invalid("A parameter of this request is not UTF-8, escaped as RFC 3986 has it.")
            }
        }
        for (name, value) in request.uri.queryParameters {
            let name = String(name)
            guard known.contains(name) else {
                let names = known.isEmpty ? "It has none." : "It has \(known.sorted().joined(separator: ", "))."
                throw Problem.invalid("This request has no parameter '\(Escape.text(name))'. \(names)")
            }
            guard values.updateValue(String(value), forKey: name) == nil else {
                throw Problem.invalid("The parameter '\(name)' is there twice; give it once.")
            }
        }
    }

    /// Takes what a form of a page sends, behind the question mark or as the body (`application/x-www-form-urlencoded`): `+` is a
    /// space there, and a field that somebody has left empty is not there.
    ///
    /// - Throws: a problem with status 400 that names the parameter.
    package init(form text: String, known: Set<String>) throws(Problem) {
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.replacing("+", with: " ").removingPercentEncoding
            }
            guard let name = pair[0], let value = pair.count == 2 ? pair[1] : "" else {
                throw Problem.invalid("A field of the form is not UTF-8, escaped as forms are.")
            }
            guard known.contains(name) else {
                throw Problem.invalid("This form has no field '\(Escape.text(name))'.")
            }
            if value.isEmpty { continue }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem.invalid("The field '\(name)' is there twice; give it once.")
            }
        }
    }

    /// Whether the parameter is there.
    package func has(_ name: String) -> Bool { values[name] != nil }

    /// The parameter as text; `nil`: it is not there.
    package func text(_ name: String) -> String? { values[name] }

    /// The parameter as a whole number within its range.
    package func count(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem.invalid("'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// The parameter as a sequence number, 0 included where a place before the first message is meant.
    package func sequence(_ name: String) throws(Problem) -> SequenceNumber? {
        guard let text = values[name] else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw Problem.invalid("'\(name)' is a sequence number, a whole number from 0.")
        }
        return SequenceNumber(number)
    }

    /// The parameter as a duration such as `30s`.
    package func duration(_ name: String, in range: ClosedRange<Duration>) throws(Problem) -> Duration? {
        guard let duration = try value(name, DurationText.parse) else { return nil }
        guard range.contains(duration) else {
            throw Problem.invalid(
                "'\(name)' is from \(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound))."
            )
        }
        return duration
    }

    /// The parameter as a moment, `now` being the present.
    package func time(_ name: String, now: Timestamp) throws(Problem) -> Timestamp? {
        try value(name) { text throws(PenstockError) in try TimeText.parse(text, now: now) }
    }

    /// The parameter as yes or no: `true`, `1` or nothing behind its name; `false` or `0`.
    package func flag(_ name: String) throws(Problem) -> Bool {
        switch values[name] {
        case nil, "false", "0": return false
        case "true", "1", "": return true
        default: throw Problem.invalid("'\(name)' is true or false.")
        }
    }

    /// The parameter as the name of something in the store.
    package func name<Name: StoreName>(_ name: String) throws(Problem) -> Name? {
        try value(name) { text throws(PenstockError) in try Name(text) }
    }

    /// The parameter made into a value by `make`, whose error is told with the parameter's name.
    package func value<Value>(_ name: String, _ make: (String) throws(PenstockError) -> Value) throws(Problem) -> Value?
    {
        guard let text = values[name] else { return nil }
        do { return try make(text) } catch { throw Problem.invalid("'\(name)': \(error.message)") }
    }
}

extension Request {
    /// Throws a problem with status 400 that names the first parameter: a request of this kind has none.
    package func refuseParameters() throws(Problem) { _ = try QueryParameters(self, known: []) }
}
