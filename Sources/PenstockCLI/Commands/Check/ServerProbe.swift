import PenstockCore
import PenstockFormats
import PenstockProcesses

/// Asks a server of this machine whether it can do its work.
struct ServerProbe: Sendable {
    let address: ListenAddress
    /// How long connecting, sending and each wait for the answer may take.
    private static let timeout = Duration.seconds(4)

    /// Whether it says so, and what it said, as a sentence without a full stop.
    func ask() async throws -> (isReady: Bool, sentence: String) {
        try await SystemThread.run {
            do throws(PenstockError) {
                let socket = try StreamSocket.connected(to: place, timeout: Self.timeout)
                defer { socket.close() }
                // Where no token is asked for, the server looks at the host.
                socket.write(Array("GET /readyz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
                return Self.answer(socket.read(4096), address)
            } catch {
                return (false, "the server at \(address) cannot be reached")
            }
        }
    }

    /// What the first bytes of an answer mean.
    static func answer(_ bytes: [UInt8], _ address: ListenAddress) -> (isReady: Bool, sentence: String) {
        let words = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }.split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            return (false, "the server at \(address) does not answer")
        }
        return (
            status == 200, "the server at \(address) \(status == 200 ? "is ready" : "answers with status \(status)")"
        )
    }

    private var place: StreamSocket.Place {
        switch address {
        case .port(let host, let port): .port(host: host, port)
        case .unix(let path): .path(path)
        }
    }
}
