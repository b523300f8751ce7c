import PenstockCore
import PenstockFormats
import PenstockMetrics
import PenstockProcesses

/// Asks a server of this machine whether it can do its work.
struct ServerProbe: Sendable {
    let address: ListenAddress
    /// How long connecting, sending and each wait for the answer may take.
    private static let timeout = Duration.seconds(4)

    /// As much of an answer as is read. A server says less.
    private static let answerBytesMax = 4096

    /// Reads an address, also as the server prints it.
    static func address(_ text: String) throws -> ListenAddress {
        let scheme = "http://"
        guard text.prefix(scheme.count).lowercased() == scheme else { return try ListenAddress(text) }
        let rest = text.dropFirst(scheme.count)
        return try ListenAddress(String(rest.hasSuffix("/") ? rest.dropLast() : rest))
    }

    /// Whether it says so, and what it said, as a sentence without a full stop.
    func ask() async throws -> (isReady: Bool, sentence: String) {
        try await SystemThread.run {
            do throws(PenstockError) {
                let socket = try StreamSocket.connected(to: address.place, timeout: Self.timeout)
                defer { socket.close() }
                // Where no token is asked for, the server looks at the host.
                socket.write(Array("GET /readyz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
                let deadline = ContinuousClock.now + Self.timeout
                var bytes: [UInt8] = []
                while bytes.count < Self.answerBytesMax,
                    case let part = socket.read(Self.answerBytesMax - bytes.count, by: deadline), !part.isEmpty
                {
                    bytes += part
                }
                return Self.answer(bytes, address)
            } catch {
                return (false, "the server at \(address) cannot be reached")
            }
        }
    }

    /// What an answer means. Any server of HTTP answers something; what this one says has to be Penstock's word.
    static func answer(_ bytes: [UInt8], _ address: ListenAddress) -> (isReady: Bool, sentence: String) {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.prefix { !$0.isNewline }.split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            return (false, "the server at \(address) does not answer")
        }
        if status == 200 {
            let body = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
            guard body.filter({ !$0.isWhitespace }) == #"{"status":"ok"}"# else {
                return (false, "what answers at \(address) is no Penstock server")
            }
        }
        if status == 503, text.contains(#""code":"storeMoved""#) {
            return (false, "the queues of the server at \(address) have moved to another store, or are being moved")
        }
        return (
            status == 200, "the server at \(address) \(status == 200 ? "is ready" : "answers with status \(status)")"
        )
    }
}
