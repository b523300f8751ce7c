package import HTTPTypes
package import Hummingbird
import NIOCore
package import PenstockFormats

extension Response {
    /// A response whose body is `value`, with a line feed behind it.
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        var bytes: [UInt8] = []
        value.write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
