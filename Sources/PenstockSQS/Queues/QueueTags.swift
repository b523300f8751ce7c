import PenstockFormats

/// The tags of a queue, by key. Keys are the same when their bytes are: a dictionary of texts, and a decoder that makes one, would take
/// two for one that differ in how an accent is written.
struct QueueTags: Equatable, Sendable {
    private var values: [[UInt8]: String] = [:]

    init() {}

    /// Of a key that is there twice the first value counts, as to a decoder.
    init(_ tags: [(name: String, value: String)]) {
        for (name, value) in tags where self[name] == nil { self[name] = value }
    }

    /// Reads the member of that name of a JSON object that a decoder has taken; `nil` when it is no object of texts.
    init?(_ member: String, of object: [UInt8]) {
        guard let tags = JSONSpans.member(member, of: object[...]).flatMap({ JSONSpans.texts(of: $0) }) else {
            return nil
        }
        self.init(tags)
    }

    var isEmpty: Bool { values.isEmpty }

    /// All of them, in the order of their keys' bytes.
    var all: [(name: String, value: String)] {
        values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
            (name: String(decoding: $0.key, as: UTF8.self), value: $0.value)
        }
    }

    /// The value of a tag; `nil`: there is no such tag.
    subscript(name: String) -> String? {
        get { values[Array(name.utf8)] }
        set { values[Array(name.utf8)] = newValue }
    }

    /// Adds `tags`, whose values count where both have a key.
    func merging(_ tags: QueueTags) -> QueueTags {
        var merged = self
        merged.values.merge(tags.values) { $1 }
        return merged
    }

    var json: JSONValue { .object(all.map { .init(key: $0.name, value: .string($0.value)) }) }
}
