import Crypto
import Foundation
import PenstockCore
import PenstockFormats

struct AttributeValue: Codable, Equatable, Sendable {
    var DataType: String?
    var StringValue: String?
    /// In base64.
    var BinaryValue: String?
}

/// The attributes of a message, by name.
typealias MessageAttributes = [String: AttributeValue]

extension MessageAttributes {
    private static let countMax = 10

    /// Throws a refusal when an attribute is none that Amazon takes.
    func validate() throws(Refusal) {
        guard count <= Self.countMax else {
            throw .invalid("Number of message attributes [\(count)] exceeds the allowed maximum [\(Self.countMax)].")
        }
        for (name, value) in self { try value.validate(name) }
    }

    /// Bytes that they count as part of their message.
    var byteCount: Int { reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount } }

    /// Amazon's digest of attributes, in hex; `nil`: there are none.
    ///
    /// By name, each with its length before it: the name, the type, one byte for the kind of value, the value.
    var md5: String? {
        if isEmpty { return nil }
        var hash = Insecure.MD5()
        func update(_ bytes: [UInt8]) {
            withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        for (name, value) in sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            update(Array(name.utf8))
            update(Array((value.DataType ?? "").utf8))
            if let text = value.StringValue {
                hash.update(data: [1])
                update(Array(text.utf8))
            } else {
                hash.update(data: [2])
                update(value.binary ?? [])
            }
        }
        return hash.finalize().hex
    }

    /// Those that a receiver asks for.
    func asked(for asked: AskedAttributes) -> MessageAttributes {
        filter { name, _ in asked.contains(name) }
    }

    var json: JSONValue {
        .object(sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value.json) })
    }
}

/// Which attributes a receiver asks for by names: `All`, `.*`, a name, or the beginning of names with `.*` behind it. However many
/// there are, an attribute is looked up by what its own name is.
struct AskedAttributes: Sendable {
    private var names: Set<String> = []
    private var beginnings: Set<String> = []
    private var areAll = false

    init(_ asked: [String]) {
        for name in asked {
            if name == "All" || name == ".*" {
                areAll = true
            } else if name.hasSuffix(".*") {
                beginnings.insert(String(name.dropLast(2)))
            } else {
                names.insert(name)
            }
        }
    }

    func contains(_ name: String) -> Bool {
        if areAll || names.contains(name) { return true }
        return !beginnings.isEmpty && name.indices.contains { beginnings.contains(String(name[...$0])) }
    }
}

extension AttributeValue {
    fileprivate var binary: [UInt8]? { BinaryValue.flatMap { Data(base64Encoded: $0) }.map(Array.init) }

    fileprivate var byteCount: Int {
        (DataType?.utf8.count ?? 0) + (StringValue?.utf8.count ?? binary?.count ?? 0)
    }

    /// Bytes of a type with its label.
    private static let typeBytesMax = 256

    fileprivate func validate(_ name: String) throws(Refusal) {
        // No period is at an end, or beside another one.
        let isName = name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
        }
        guard (1...256).contains(name.utf8.count), isName, !name.lowercased().hasPrefix("aws."),
            !name.lowercased().hasPrefix("amazon.")
        else { throw .invalid("The message attribute name '\(Escape.text(name))' is invalid.") }
        guard let type = DataType, !type.isEmpty else {
            throw .invalid("The message attribute '\(name)' must contain non-empty message attribute type.")
        }
        guard type.utf8.count <= Self.typeBytesMax else {
            throw .invalid("The message attribute '\(name)' has a type of more than \(Self.typeBytesMax) bytes.")
        }
        try MessageBody.validate(type)
        let base = type.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).first
        let isEmpty: Bool
        switch base {
        case "String", "Number": isEmpty = (StringValue ?? "").isEmpty || BinaryValue != nil
        case "Binary": isEmpty = (binary ?? []).isEmpty || StringValue != nil
        default:
            throw .invalid(
                "The message attribute '\(name)' has an invalid message attribute type, the set of supported type prefixes is "
                    + "Binary, Number, and String.")
        }
        if isEmpty {
            throw .invalid(
                "The message attribute '\(name)' must contain non-empty message attribute value for message attribute type "
                    + "'\(Escape.text(type))'.")
        }
        guard let StringValue else { return }
        try MessageBody.validate(StringValue)
        if base == "Number", !Self.isNumber(StringValue) {
            throw .invalid("Can't cast the value of message attribute '\(name)' to a number.")
        }
    }

    /// Whether a text is a decimal number, with an exponent or without one.
    private static func isNumber(_ text: String) -> Bool {
        func unsigned(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            part.first == UInt8(ascii: "-") || part.first == UInt8(ascii: "+") ? part.dropFirst() : part
        }
        func areDigits(_ part: ArraySlice<UInt8>) -> Bool {
            part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        let bytes = Array(text.utf8)[...]
        let mantissa = bytes.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
        if mantissa.count < bytes.count {
            let exponent = unsigned(bytes.dropFirst(mantissa.count + 1))
            guard !exponent.isEmpty, areDigits(exponent) else { return false }
        }
        let parts = unsigned(mantissa).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.allSatisfy(areDigits) && parts.contains { !$0.isEmpty }
    }

    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [.init(key: "DataType", value: .string(DataType ?? "String"))]
        if let StringValue { members.append(.init(key: "StringValue", value: .string(StringValue))) }
        if let BinaryValue { members.append(.init(key: "BinaryValue", value: .string(BinaryValue))) }
        return .object(members)
    }
}

extension Sequence<UInt8> {
    var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
