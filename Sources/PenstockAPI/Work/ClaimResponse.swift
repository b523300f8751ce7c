import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// The answer that hands messages to a worker. When it cannot be written, they are given back, and the attempt does not count.
struct ClaimResponse: Sendable {
    let store: PenstockStore
    let claimed: [RemoteClaim.Claimed]
    /// That of the worker's connection.
    let loop: any EventLoop

    /// The messages as a JSON object.
    ///
    /// - Parameter before: members of it that come before the messages.
    func json(before: [JSONValue.Member] = []) -> Response {
        var head = JSONValue.object(before).bytes
        // The object is left open for the messages.
        head.removeLast()
        head += (before.isEmpty ? "\"messages\":[" : ",\"messages\":[").utf8
        let fields: HTTPFields = [.contentType: "application/json"]
        if claimed.reduce(0, { $0 + $1.message.payload.count }) <= ResponseBody.partBytes {
            var bytes = head
            for (index, message) in claimed.enumerated() { Self.append(message, isFirst: index == 0, to: &bytes) }
            bytes += "]}\n".utf8
            return response(fields, .handingOver(leases, of: store, ByteBuffer(bytes: bytes), on: loop))
        }
        let body = ResponseBody.handingOver(leases, of: store, length: nil) { [claimed, head, loop] writer in
            var bytes = head
            for (index, message) in claimed.enumerated() {
                Self.append(message, isFirst: index == 0, to: &bytes)
                if bytes.count >= ResponseBody.partBytes {
                    try await writer.write(inParts: ByteBuffer(bytes: bytes), on: loop, isLast: false)
                    bytes = []
                }
            }
            bytes += "]}\n".utf8
            try await writer.write(ByteBuffer(bytes: bytes))
        }
        return response(fields, body)
    }

    private static func append(_ message: RemoteClaim.Claimed, isFirst: Bool, to bytes: inout [UInt8]) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        message.json.write(to: &bytes)
    }

    /// The only message as it was enqueued, with the rest in headers; 204 when there is none.
    var raw: Response {
        guard let only = claimed.first else { return .done }
        let message = only.message
        var fields: HTTPFields = [.contentType: "application/octet-stream"]
        func add(_ name: String, _ value: String) {
            guard let name = HTTPField.Name("Penstock-\(name)") else { return }
            fields[name] = Self.escaped(value)
        }
        add("Sequence", "\(message.lease.sequence)")
        add("Token", "\(message.lease.token.rawValue)")
        add("Queue", only.queue.text)
        add("Attempt", "\(message.attempt)")
        add("Priority", "\(message.priority)")
        if let group = message.group { add("Group", group) }
        for (name, value) in message.headers { add("Header-\(name)", value) }
        return response(fields, .handingOver(leases, of: store, ByteBuffer(bytes: message.payload), on: loop))
    }

    private var leases: [Lease] { claimed.map(\.message.lease) }

    private func response(_ fields: HTTPFields, _ body: ResponseBody) -> Response {
        Response(status: .ok, headers: fields, body: body)
    }

    /// A value as a header can hold it: what is not ASCII, or cannot be seen, is escaped as RFC 3986 has it, and so are `%` and a space
    /// at an end, which whoever reads the header would leave out.
    private static func escaped(_ value: String) -> String {
        var text = ""
        let last = value.utf8.count - 1
        for (place, byte) in value.utf8.enumerated() {
            let isLost = byte == UInt8(ascii: " ") && (place == 0 || place == last)
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "%"), !isLost {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}
