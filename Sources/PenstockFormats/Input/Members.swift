import PenstockCore

/// A name in a JSON object.
struct MemberKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }

    init?(stringValue: String) { self.init(stringValue) }

    init?(intValue: Int) { nil }
}

/// The members of a JSON object, which has no others than it may.
package struct Members {
    let container: KeyedDecodingContainer<MemberKey>

    /// - Throws: `PenstockError` when the object has another: a slip of the hand must not be taken for nothing.
    package init(_ decoder: any Decoder, _ known: Set<String>, of thing: String) throws {
        container = try decoder.container(keyedBy: MemberKey.self)
        // The first by name, as a dictionary has them in another order each time.
        if let other = container.allKeys.lazy.map(\.stringValue).filter({ !known.contains($0) }).min() {
            throw PenstockError(
                .invalidInput,
                "\(thing) has no \"\(Escape.excerpt(other))\"; it has \(known.sorted().joined(separator: ", ")).")
        }
    }

    /// The member, which has to be there.
    package func required<Value: Decodable>(_ name: String) throws -> Value {
        try container.decode(Value.self, forKey: MemberKey(name))
    }

    /// The member; `nil` when there is none, or it is null.
    package func value<Value: Decodable>(_ name: String) throws -> Value? {
        try container.decodeIfPresent(Value.self, forKey: MemberKey(name))
    }

    /// The member, which is one of some words; `nil` when there is none, or it is null.
    ///
    /// - Throws: `PenstockError` that names the words, for another one.
    package func value<Value: CaseIterable & RawRepresentable>(_ name: String) throws -> Value?
    where Value: Decodable, Value.RawValue == String {
        guard let word: String = try container.decodeIfPresent(String.self, forKey: MemberKey(name)) else { return nil }
        guard let value = Value(rawValue: word) else {
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            let place = JSONInput.path(container.codingPath + [MemberKey(name)])
            throw PenstockError(
                .invalidInput, "\"\(place)\" cannot be '\(Escape.excerpt(word))'; it is one of \(known).")
        }
        return value
    }

    package func has(_ name: String) -> Bool { container.contains(MemberKey(name)) }
}
