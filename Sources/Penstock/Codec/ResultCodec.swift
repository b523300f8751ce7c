internal import Foundation
internal import PenstockCore

/// What steps and messages give and events bring, as bytes: JSON as ``JSONCodec`` writes it, and bytes as they are. Only
/// `[UInt8]` itself counts as bytes: what may be `nil` has to be told from bytes, and is JSON.
enum ResultCodec {
    static func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        // The types are compared, as a cast also takes empty arrays of other elements and bytes that are optional for bytes.
        if Value.self == [UInt8].self, let bytes = value as? [UInt8] { return bytes }
        return try [UInt8](JSONEncoder.forPayloads().encode(value))
    }

    /// - Parameter origin: what gave the bytes, for the error.
    /// - Throws: `PenstockError` with code `undecodable`.
    static func decode<Value: Decodable>(
        _ bytes: [UInt8], as type: Value.Type, of origin: @autoclosure () -> String
    ) throws(PenstockError) -> Value {
        if Value.self == [UInt8].self, let value = bytes as? Value { return value }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            throw PenstockError(
                .undecodable, "What \(origin()) gave cannot be decoded as \(Value.self): \(error)", cause: error)
        }
    }
}

extension JSONEncoder {
    /// Keys are in order, so that equal values have equal bytes.
    static func forPayloads() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
