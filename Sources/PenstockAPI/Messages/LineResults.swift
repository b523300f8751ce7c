import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What became of each line of a body.
struct LineResults {
    /// What is said of a line that was refused has so many bytes at most: many lines are told of at once.
    private static let detailBytesMax = 1000

    private var results: [(line: Int, json: [UInt8])] = []
    private var isAllAccepted = true
    /// Whether nothing more goes in: the store has no room or no answer, or the client may not any more.
    private(set) var isOver = false

    /// - Parameter isKeyed: whether the message had the key of its request: then the answer is that of the first request.
    mutating func accept(_ line: Int, _ receipt: Receipt, _ queue: QueueName, _ isKeyed: Bool) {
        let isReplayed = isKeyed && receipt.skipped
        var receipt = receipt
        if isKeyed { receipt.skipped = false }
        guard case .object(var members) = receipt.json(queue: queue) else { return }
        if isReplayed { members.append(.init(key: "replayed", value: .bool(true))) }
        add(line, .object([.init(key: "line", value: .integer(line))] + members))
    }

    mutating func refuse(_ line: Int, _ problem: Problem) {
        isAllAccepted = false
        let members: KeyValuePairs<String, JSONValue> = [
            "line": .integer(line), "status": .integer(problem.status.code), "code": .string(problem.code),
            "detail": .string(problem.detail.cut(to: Self.detailBytesMax)),
        ]
        add(line, .object(members))
    }

    private mutating func add(_ line: Int, _ json: JSONValue) {
        results.append((line, json.bytes + [UInt8(ascii: "\n")]))
    }

    /// These lines are not in line, and none that follows will be.
    mutating func end(_ lines: ArraySlice<Int>, _ problem: Problem) {
        isOver = true
        for line in lines { refuse(line, problem) }
    }

    /// The response, in the order of the lines. A line that has no result was not read, and is not in line.
    var response: Response {
        var bytes: [UInt8] = []
        // One that cannot be is known before the batch that it is in goes in.
        for result in results.sorted(by: { $0.line < $1.line }) { bytes += result.json }
        return Response(
            status: isAllAccepted ? .created : HTTPResponse.Status(code: 207, reasonPhrase: "Multi-Status"),
            headers: [.contentType: "application/x-ndjson"], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension Problem {
    /// That something happened that nobody has thought of.
    static let unexpected = Problem(.internalServerError, code: "internal", "Something unexpected happened.")
}
