/// The name of what a message is: by it a worker chooses a handler. 1 to 200 bytes of UTF-8, as a queue's name, without commas.
///
/// It lies among the message's headers, as ``header``, so it is there for every way into a queue, and a replay keeps it.
public struct KindName: StoreName {
    /// The header that has it.
    public static let header = "penstock-kind"

    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "kind", bytesMax: Limits.kindNameBytesMax)
        try require(!text.utf8.contains(UInt8(ascii: ",")), "A kind's name cannot hold a comma.")
        self.text = text
    }
}
