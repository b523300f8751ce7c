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
