#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Any JSON value, as somebody has written it into a file: a payload that is no text.
enum AnyJSON: Decodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Decimal)
    case string(String)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self =
            if container.decodeNil() {
                .null
            } else if let text = try? container.decode(String.self) {
                .string(text)
            } else if let flag = try? container.decode(Bool.self) {
                .bool(flag)
            } else if let integer = try? container.decode(Int64.self) {
                .integer(integer)
            } else if let number = try? container.decode(Decimal.self) {
                .number(number)
            } else if let values = try? container.decode([AnyJSON].self) {
                .array(values)
            } else {
                .object(try container.decode([String: AnyJSON].self))
            }
    }

    /// The text that it is; `nil` when it is anything else.
    var text: String? { if case .string(let text) = self { text } else { nil } }
}
