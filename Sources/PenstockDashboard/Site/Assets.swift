import HTTPTypes
import Hummingbird
import NIOCore

/// The style sheet and the script: parts of the program, at addresses that change with them, so that browsers keep them for good.
struct Assets {
    let path: String
    private let bytes: [UInt8]
    private let type: String

    static let style = Assets("style", "css", "text/css; charset=utf-8")
    static let script = Assets("script", "js", "text/javascript; charset=utf-8")

    private init(_ name: String, _ ending: String, _ type: String) {
        let bytes = Array(EmbeddedFile.text(of: "\(name).\(ending)").utf8)
        // FNV-1a: whoever changes the file changes the address; nobody has to be kept from finding another one with the same.
        let mark = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        path = "/assets/\(name)-\(String(mark, radix: 16)).\(ending)"
        self.bytes = bytes
        self.type = type
    }

    var response: Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
