internal import PenstockCore

/// The codecs of a queue, in the order in which a payload goes through them.
struct CodecChain: Sendable {
    /// The header that says which codecs a payload went through: names with commas between them, each with `:` and a parameter if it
    /// has one.
    static let header = "penstock-codec"

    private let codecs: [any ByteCodec]
    /// Whether payloads that went through codecs are given as they are, to a program that hands them on.
    private let passesCoded: Bool

    /// A chain that reads payloads which went through none.
    static let empty = CodecChain()
    /// A chain that gives all payloads as they are in the log.
    static let passing = CodecChain(passesCoded: true)

    private init(passesCoded: Bool = false) {
        (codecs, self.passesCoded) = ([], passesCoded)
    }

    /// - Throws: `invalidInput` when two have the same name, or a name is none.
    init(_ codecs: [any ByteCodec]) throws(PenstockError) {
        var names: Set<String> = []
        for codec in codecs {
            guard (1...32).contains(codec.name.utf8.count), codec.name.utf8.allSatisfy(Self.isNameByte) else {
                throw PenstockError(
                    .invalidInput,
                    "A codec's name has 1 to 32 lower-case letters, digits or '-', unlike '\(codec.name)'.")
            }
            guard names.insert(codec.name).inserted else {
                throw PenstockError(
                    .invalidInput, "Two codecs of the queue are called '\(codec.name)'; a chain has each name once.")
            }
        }
        (self.codecs, passesCoded) = (codecs, false)
    }

    /// Whether it changes nothing.
    var isEmpty: Bool { codecs.isEmpty }

    /// The message with its payload as it is stored. One whose header says that its payload went through codecs stays as it is.
    func coded(_ message: NewMessage) throws -> NewMessage {
        guard message.headers[Self.header] == nil else { return message }
        var coded = message
        let (payload, header) = try encode(message.payload)
        coded.payload = payload
        if let header { coded.headers[Self.header] = header }
        return coded
    }

    /// - Returns: the payload as it is stored, and the header's value; `nil` when no codec has changed it.
    func encode(_ payload: [UInt8]) throws -> (payload: [UInt8], header: String?) {
        if codecs.isEmpty { return (payload, nil) }
        var payload = payload
        var entries: [String] = []
        for codec in codecs {
            guard let coded = try codec.encode(payload) else { continue }
            payload = coded.bytes
            entries.append(try Self.entry(codec.name, coded.parameter))
        }
        return (payload, entries.isEmpty ? nil : entries.joined(separator: ","))
    }

    /// The payload before it went through the codecs that `headers` name.
    ///
    /// - Throws: `undecodable` when the chain has not all of them, with the codec's error when one of them cannot read it.
    func decode(_ payload: [UInt8], _ headers: [String: String]) throws(PenstockError) -> [UInt8] {
        guard let header = headers[Self.header], !passesCoded else { return payload }
        var payload = payload
        var left = codecs
        for entry in header.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            let words = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = words[0]
            guard let index = left.firstIndex(where: { $0.name == name }) else {
                let isRepeated = codecs.contains { $0.name == name }
                throw PenstockError(
                    .undecodable,
                    isRepeated
                        ? "The header \(Self.header) names the codec '\(name)' twice, which no chain does."
                        : "The payload went through the codec '\(name)', which this queue was opened without; name it among its `codecs`."
                )
            }
            do {
                payload = try left.remove(at: index).decode(
                    CodedBytes(payload, parameter: words.count > 1 ? String(words[1]) : nil))
            } catch {
                throw PenstockError(.undecodable, "The codec '\(name)' cannot read the payload: \(error)", cause: error)
            }
        }
        return payload
    }

    private static func entry(_ name: String, _ parameter: String?) throws(PenstockError) -> String {
        guard let parameter else { return name }
        guard (1...100).contains(parameter.utf8.count), parameter.utf8.allSatisfy(isParameterByte) else {
            throw PenstockError(
                .invalidInput,
                "The codec '\(name)' gave a parameter that is not 1 to 100 letters, digits, '.', '-' or '_': '\(parameter)'."
            )
        }
        return "\(name):\(parameter)"
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isParameterByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: isNameByte(byte)
        }
    }
}
