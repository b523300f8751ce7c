import Dispatch
import Logging
import PenstockFormats
import Synchronization

/// Standard error, which several tasks write to at once.
///
/// A queue of its own writes, so a slow reader blocks no thread of the pool, and lines come out whole and in order.
enum ErrorOutput {
    private static let queue = DispatchQueue(label: "penstock.standard-error")

    static var isTerminal: Bool { Descriptor.standardError.isTerminal }

    /// Adds a line, without waiting until it is written. Whatever it quotes, no password of a database is in it.
    static func line(_ text: String) {
        queue.async { write(Array((Passwords.hidden(in: text) + "\n").utf8)) }
    }

    /// Says a sentence about the program itself, as a line of its own; in the form that was asked for with --log-format.
    static func say(_ sentence: String, _ level: Logger.Level = .notice) {
        line(LogFormat.isJSON ? LogFormat.line(sentence, level) : "penstock: \(Escape.line(sentence))")
    }

    /// Shows `text` in place of what was shown so before. For terminals.
    static func transient(_ text: String) {
        queue.async { write(Array("\r\u{1B}[K\(text)".utf8)) }
    }

    /// Writes `bytes` as they are, and returns when that is done: a task that writes a lot is held to the reader's pace.
    static func raw(_ bytes: [UInt8]) async {
        await withCheckedContinuation { continuation in
            queue.async {
                write(bytes)
                continuation.resume()
            }
        }
    }

    /// Returns when everything is written, or the reader has taken nothing for a second: a process that is to end does not wait
    /// for whoever reads. Blocks.
    static func flush() {
        let flushed = DispatchSemaphore(value: 0)
        queue.async { flushed.signal() }
        var before = writtenCount.withLock { $0 }
        while flushed.wait(timeout: .now() + 1) == .timedOut {
            let now = writtenCount.withLock { $0 }
            if now == before { return }
            before = now
        }
    }

    /// How many pieces were written.
    private static let writtenCount = Mutex(0)

    private static func write(_ bytes: [UInt8]) {
        // Where nothing can be said any more, nothing can be done about it either.
        try? Descriptor.standardError.write(bytes)
        writtenCount.withLock { $0 += 1 }
    }
}

extension Failure {
    /// Says what is wrong. Whatever the message quotes cannot break its line, and what it says to type can be typed.
    func say() {
        ErrorOutput.say(message, .error)
    }

    /// The line for a process in which nothing runs yet.
    var line: String {
        "penstock: \(Escape.line(message))"
    }
}
