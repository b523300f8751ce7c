private import CPenstockAPI
import HTTPTypes
import Hummingbird
import NIOCore
import PenstockHTTP

/// `GET /openapi.json`: what there is to ask, for programs that make clients of it (OpenAPI 3.1).
enum OpenAPI {
    static func add(to router: Router<ServerContext>) {
        let document = ByteBuffer(string: String(cString: penstock_api_document()))
        router.get("openapi.json") { request, _ in
            try request.refuseParameters()
            return Response(
                status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: document))
        }
    }
}
