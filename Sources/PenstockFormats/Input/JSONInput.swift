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
        _ type: Value.Type, from bytes: some Collection<UInt8>, as thing: String
    ) throws(PenstockError) -> Value {
        do {
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
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            "\(place(context)) is of another kind than it has to be."
        case DecodingError.dataCorrupted(let context):
            (context.underlyingError as? PenstockError)?.message ?? "It is no JSON."
        default: "\(error)"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { key in
            key.intValue.map { "[\($0)]" } ?? ".\(Escape.text(key.stringValue))"
        }.joined()
        return path.isEmpty ? "It" : "\"\(path.drop { $0 == "." })\""
    }
}
