package import PenstockCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bytes as somebody has written them into a JSON object: text under a name, base64 under the name with `Base64` behind it, or any
/// other JSON value, which is taken as it was written.
package struct PayloadEntry {
    /// What they are. Of a value that is no text they are there once ``take(from:)`` was called.
    package private(set) var bytes: [UInt8]
    private let name: String
    /// Whether the value is no text, and is still to be taken as it was written.
    private var isJSON = false

    /// - Throws: `PenstockError` when both members are there, or the base64 is none; what the decoder throws.
    package init(_ members: Members, _ name: String = "payload") throws {
        self.name = name
        guard let encoded: String = try members.value("\(name)Base64") else {
            // A payload that is null is the JSON null, and one that is left out is empty.
            guard members.has(name) else {
                bytes = []
                return
            }
            // Whatever else it is, it is JSON: all of it was looked at.
            let text = try? members.container.decode(String.self, forKey: MemberKey(name))
            bytes = text.map { Array($0.utf8) } ?? []
            isJSON = text == nil
            return
        }
        guard !members.has(name) else {
            throw PenstockError(
                .invalidInput, "it has a \"\(name)\" and a \"\(name)Base64\"; leave one of them out.")
        }
        guard let decoded = Data(base64Encoded: encoded) else {
            throw PenstockError(.invalidInput, "its \"\(name)Base64\" is not written in base64.")
        }
        bytes = Array(decoded)
    }

    /// Takes a value that is no text as it stands: no decoder keeps all digits of its numbers, or a member that is there twice.
    ///
    /// - Parameter written: the object as somebody has written it.
    package mutating func take(from written: ArraySlice<UInt8>) throws(PenstockError) {
        guard isJSON else { return }
        guard let value = JSONSpans.member(name, of: written) else {
            throw PenstockError(
                .invalidInput, "it has to have its \"\(name)\" once, and in UTF-8 without escapes in the name.")
        }
        bytes = Array(value)
    }
}
