import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reads what a server sends as it comes.
final class EventReader: NSObject, URLSessionDataDelegate {
    private let continuation: AsyncStream<String>.Continuation

    private init(_ continuation: AsyncStream<String>.Continuation) {
        self.continuation = continuation
    }

    /// The parts of the answer at `url`. It ends when the server ends it; a reader that leaves ends the request.
    static func read(_ url: URL) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let session = URLSession(
            configuration: .ephemeral, delegate: EventReader(continuation), delegateQueue: nil)
        let task = session.dataTask(with: url)
        continuation.onTermination = { _ in
            task.cancel()
            session.finishTasksAndInvalidate()
        }
        task.resume()
        return stream
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        continuation.yield(String(decoding: data, as: UTF8.self))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        continuation.finish()
    }
}
