package import PenstockCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// JSON that somebody else has written.
package enum JSONInput {
    /// The value that `bytes` are.
    ///
    /// - Parameter thing: what it is to be, for the sentence that says why it is none: `The claim`.
    /// - Throws: `PenstockError` with code `invalidInput` that names the member.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: ArraySlice<UInt8>, as thing: String
    ) throws(PenstockError) -> Value {
        do {
            try JSONGrammar.check(bytes)
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw PenstockError(.invalidInput, "\(thing) cannot be read: \(text(of: error))")
        }
    }

    /// What an error of the decoder, or of those that read its values, says.
    static func text(of error: any Error) -> String {
        switch error {
        case let failure as PenstockError: failure.message
        case DecodingError.keyNotFound(let key, let context):
            "\(place(context)) lacks \"\(key.stringValue)\"."
        case DecodingError.typeMismatch(let type, let context), DecodingError.valueNotFound(let type, let context):
            "\(place(context)) has to be \(kind(of: type))."
        case DecodingError.dataCorrupted(let context):
            (context.underlyingError as? PenstockError)?.message ?? misfit(context)
        default: "\(error)"
        }
    }

    /// What is said of JSON whose values are of the right kinds.
    private static func misfit(_ context: DecodingError.Context) -> String {
        // It is JSON, or the grammar would have said so before: what the decoder cannot read is a number.
        if context.codingPath.isEmpty { return "A number in it has to be whole, and not too large." }
        // The decoder says so of a fraction, and of a number too large, where a whole one is to be.
        let isNumber = context.debugDescription.lowercased().contains("number")
        return isNumber
            ? "\(place(context)) has to be a whole number, and not too large."
            : "\(place(context)) has a value that it cannot have."
    }

    /// The kind of JSON that a type is written as, for people.
    private static func kind(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: return "a text"
        case is Bool.Type: return "true or false"
        case is any BinaryInteger.Type: return "a whole number"
        case is any BinaryFloatingPoint.Type, is Decimal.Type: return "a number"
        default:
            // What is in a list or an object is of no matter, and its type may be the decoder's own.
            let name = "\(type)"
            if name.hasPrefix("Array<") { return "a list" }
            return name.hasPrefix("Dictionary<") ? "an object" : "of another kind"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = path(context.codingPath)
        return path.isEmpty ? "It" : "\"\(path)\""
    }

    /// Where a value is, for people: `[0].then[1].delay`.
    static func path(_ keys: [any CodingKey]) -> String {
        let path = keys.map { key in key.intValue.map { "[\($0)]" } ?? ".\(Escape.excerpt(key.stringValue))" }.joined()
        return String(path.drop { $0 == "." })
    }
}
