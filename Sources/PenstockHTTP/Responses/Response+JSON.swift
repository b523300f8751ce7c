package import HTTPTypes
package import Hummingbird
package import NIOCore
package import PenstockFormats

extension Response {
    /// A response whose body is `value`, with a line feed behind it.
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(json: value)))
    }
}

extension ByteBuffer {
    /// The value as JSON, with a line feed behind it.
    package init(json value: JSONValue) {
        var bytes = value.bytes
        bytes.append(UInt8(ascii: "\n"))
        self.init(bytes: bytes)
    }
}
