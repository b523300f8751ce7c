import Foundation

/// JSON as another program reads it.
struct JSONObject: Equatable, CustomStringConvertible {
    private let value: NSObject?

    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed]) as? NSObject
    }

    private init(_ value: NSObject?) {
        self.value = value
    }

    subscript(key: String) -> JSONObject { JSONObject((value as? [String: Any])?[key] as? NSObject) }
    subscript(index: Int) -> JSONObject {
        let items = value as? [Any] ?? []
        return JSONObject(items.indices.contains(index) ? items[index] as? NSObject : nil)
    }

    var count: Int { (value as? [Any])?.count ?? 0 }
    var text: String { value as? String ?? "(no text: \(description))" }
    var number: Double? { (value as? NSNumber)?.doubleValue }
    var flag: Bool? { (value as? NSNumber)?.boolValue }
    var isNull: Bool { value is NSNull }
    var isAbsent: Bool { value == nil }
    var description: String { value.map { "\($0)" } ?? "(absent)" }
}
