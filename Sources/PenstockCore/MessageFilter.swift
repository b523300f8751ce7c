/// What messages have to have to be found: all of what is given here.
///
/// Texts, names and values are compared byte by byte, so capital letters count, and so do two ways to write an accent.
public struct MessageFilter: Hashable, Sendable {
    /// The unique key that they were enqueued with, held or not. An index finds these.
    public var uniqueKey: String?
    /// Headers that they have, with these values. The kind of a message is one: ``KindName/header``.
    public var headers: [String: String]
    /// A part of the payload.
    public var payloadContains: String?
    /// A part of the error of the last attempt that did not end well.
    public var errorContains: String?
    /// How they failed, as ``DeadGroup/signature`` says of a group of dead letters.
    public var signature: ErrorSignature?

    /// Makes a filter: every message passes it.
    public init(
        uniqueKey: String? = nil,
        headers: [String: String] = [:],
        payloadContains: String? = nil,
        errorContains: String? = nil,
        signature: ErrorSignature? = nil
    ) {
        self.uniqueKey = uniqueKey
        self.headers = headers
        self.payloadContains = payloadContains
        self.errorContains = errorContains
        self.signature = signature
    }

    /// Whether every message passes it.
    package var isEmpty: Bool { self == MessageFilter() }

    /// Whether a message passes the filter that has these things.
    package func passes(
        uniqueKey: String?, headers: [String: String], payload: [UInt8], lastError: String?, reason: StateReason?
    ) -> Bool {
        if let wanted = self.uniqueKey, !(uniqueKey?.utf8.elementsEqual(wanted.utf8) ?? false) { return false }
        for (name, value) in self.headers {
            let has = headers.contains { $0.utf8.elementsEqual(name.utf8) && $1.utf8.elementsEqual(value.utf8) }
            if !has { return false }
        }
        if let payloadContains, !payload.contains(payloadContains.utf8) { return false }
        if let errorContains, !Array((lastError ?? "").utf8).contains(errorContains.utf8) { return false }
        if let signature, signature != ErrorSignature(reason, lastError ?? "") { return false }
        return true
    }

    /// Throws ``PenstockError`` with code `invalidInput` when a part is one that no message can have.
    package func validate() throws(PenstockError) {
        for (text, what) in [(payloadContains, "A part of a payload"), (errorContains, "A part of an error")] {
            guard let text else { continue }
            try require(
                (1...Limits.filterTextBytesMax).contains(text.utf8.count),
                "\(what) to look for has 1 to \(Limits.filterTextBytesMax) bytes (filterTextBytesMax).")
        }
        if let uniqueKey { try UniqueKey(uniqueKey).validate() }
        try HeaderRules.validate(headers)
    }
}

extension [UInt8] {
    /// Whether the bytes have `part` in them, which is not empty.
    fileprivate func contains(_ part: String.UTF8View) -> Bool {
        let part = Array(part)
        guard let first = part.first, count >= part.count else { return false }
        return (0...count - part.count).contains { start in
            self[start] == first && self[start..<start + part.count].elementsEqual(part)
        }
    }
}
