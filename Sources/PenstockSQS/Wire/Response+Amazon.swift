import HTTPTypes
import Hummingbird
import NIOCore
import PenstockFormats

extension Response {
    /// A response as the JSON protocol of Amazon's services has it.
    static func amazonJSON(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        amazonJSON(body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.bytes)), status: status)
    }

    /// The same where the JSON is a body already.
    static func amazonJSON(body: ResponseBody, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: "application/x-amz-json-1.0"], body: body)
    }

    /// What an action answers that says nothing.
    static var amazonEmpty: Response { .amazonJSON(.object([])) }
}
