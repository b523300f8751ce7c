import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

extension Request {
    /// The body as JSON; an empty one is an object without members.
    ///
    /// - Parameter thing: what it is to be, for the sentence that says why it is none.
    /// - Throws: a problem with status 400 or 413.
    func json<Value: Decodable>(_ type: Value.Type, as thing: String) async throws -> Value {
        try await jsonAsWritten(type, as: thing).value
    }

    /// The body as JSON, and as it was written: what is enqueued keeps all digits of its numbers.
    func jsonAsWritten<Value: Decodable>(
        _ type: Value.Type, as thing: String, bytesMax: Int = Bounds.bodyBytesMax
    ) async throws -> (value: Value, written: ArraySlice<UInt8>) {
        let body = try await wholeBody(bytesMax: bytesMax)
        let written = body.readableBytes == 0 ? Array("{}".utf8)[...] : Array(body.readableBytesView)[...]
        return (try JSONInput.decode(type, from: written, as: thing), written)
    }

    /// Whether the client wants this type of content, by name. One that gives it the weight 0 does not (RFC 9110, 12.4.2).
    func accepts(_ type: String) -> Bool {
        headers[values: .accept].contains { value in
            value.split(separator: ",").contains { $0.typeName == type && $0.weight != 0 }
        }
    }
}

extension StringProtocol {
    /// Without the spaces at its ends.
    func trimming() -> String {
        // In bytes: to find out where characters end takes longer than all else that is done with a header.
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let front = Array(utf8.drop(while: isSpace))
        let end = front.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: front[..<end], as: UTF8.self)
    }

    /// The weight among the parameters that follow the name of a type of content; 1 where there is none.
    fileprivate var weight: Double {
        let weights = split(separator: ";").dropFirst().map { $0.trimming().lowercased() }.filter { $0.hasPrefix("q=") }
        return weights.first.flatMap { Double($0.dropFirst(2)) } ?? 1
    }

    /// Without the parameters that follow the name of a type of content, in small letters.
    var typeName: String {
        String(decoding: utf8.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self).trimming().lowercased()
    }
}

/// An array of so many values at most: no request brings more than it may.
struct BoundedArray<Element: Decodable>: Decodable {
    var elements: [Element]

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        elements = []
        while !container.isAtEnd {
            try require(
                elements.count < Bounds.leaseCountMax, "A list has at most \(Bounds.leaseCountMax) entries.")
            elements.append(try container.decode(Element.self))
        }
    }
}
