/// What tells the series of one family apart: names and values, as they are written between the braces.
package struct Labels: Hashable, Sendable {
    let bytes: [UInt8]

    /// No label: the family has one series.
    package init() { bytes = [] }

    /// - Parameter pairs: names, which are ASCII letters, digits and underscores, and values, which are any text.
    package init(_ pairs: KeyValuePairs<String, String>) {
        self.init(pairs: pairs.map { ($0.key, $0.value) })
    }

    init(pairs: [(String, String)]) {
        var bytes: [UInt8] = []
        for (name, value) in pairs {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes += name.utf8
            bytes += "=\"".utf8
            for byte in value.utf8 {
                switch byte {
                case UInt8(ascii: "\\"), UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), byte]
                case UInt8(ascii: "\n"): bytes += "\\n".utf8
                default: bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
        self.bytes = bytes
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    func adding(_ name: String, _ value: String) -> Labels {
        let more = Labels([name: value]).bytes
        return Labels(bytes: bytes.isEmpty ? more : bytes + [UInt8(ascii: ",")] + more)
    }
}
