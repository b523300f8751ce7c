import Dispatch
import Logging
import PenstockFormats
import Synchronization

/// Standard error, which several tasks write to at once.
///
/// A queue of its own writes, so a slow reader blocks no thread of the pool, and lines come out whole and in order. Lines that
/// come faster than they are read are left out beyond a bound, and counted.
enum ErrorOutput {
    private static let queue = DispatchQueue(label: "penstock.standard-error")

    static var isTerminal: Bool { Descriptor.standardError.isTerminal }

    private static let pending = Mutex(PendingLines())
    /// Bytes that are written at once: what a reader takes of many shows that it reads.
    private static let pieceBytes = 16 * 1024
    /// How long ``flush()`` takes at most.
    private static let flushMax = Duration.seconds(5)

    /// Adds a line, without waiting until it is written. Whatever it quotes, no password of a database is in it.
    static func line(_ text: String) {
        let line = Passwords.hidden(in: text)
        if pending.withLock({ $0.add(line) }) { queue.async { writeLines() } }
    }

    private static func writeLines() {
        let (bytes, leftOut) = pending.withLock { $0.take() }
        if !bytes.isEmpty { write(bytes) }
        if leftOut == 0 { return }
        let sentence = "\(leftOut) lines were left out here, as nobody has read them in time."
        write(Array((said(sentence, .warning) + "\n").utf8))
    }

    /// Says a sentence about the program itself, as a line of its own; in the form that was asked for with --log-format.
    static func say(_ sentence: String, _ level: Logger.Level = .notice) {
        line(said(sentence, level))
    }

    private static func said(_ sentence: String, _ level: Logger.Level) -> String {
        LogFormat.isJSON ? LogFormat.line(sentence, level) : "penstock: \(Escape.line(sentence))"
    }

    /// Shows `text` in place of what was shown so before. For terminals.
    static func transient(_ text: String) {
        queue.async {
            writeLines()
            write(Array("\r\u{1B}[K\(text)".utf8))
        }
    }

    /// Writes `bytes` as they are, and returns when that is done: a task that writes a lot is held to the reader's pace.
    static func raw(_ bytes: [UInt8]) async {
        await withCheckedContinuation { continuation in
            queue.async {
                writeLines()
                write(bytes)
                continuation.resume()
            }
        }
    }

    /// Returns when everything is written, or the reader has taken nothing for a second, or little in five: a process that is to end
    /// does not wait for whoever reads. Blocks.
    static func flush() {
        let flushed = DispatchSemaphore(value: 0)
        queue.async {
            writeLines()
            flushed.signal()
        }
        let end = ContinuousClock.now + flushMax
        var before = writtenCount.withLock { $0 }
        while flushed.wait(timeout: .now() + 1) == .timedOut {
            let now = writtenCount.withLock { $0 }
            if now == before || ContinuousClock.now >= end { return }
            before = now
        }
    }

    private static let writtenCount = Mutex(0)

    private static func write(_ bytes: [UInt8]) {
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            // Where nothing can be said any more, nothing can be done about it either.
            try? Descriptor.standardError.write(bytes[start..<min(start + pieceBytes, bytes.count)])
            writtenCount.withLock { $0 += 1 }
        }
    }
}

extension Failure {
    /// Says what is wrong. Whatever the message quotes cannot break its line, and what it says to type can be typed.
    func say() { ErrorOutput.say(message, .error) }

    /// The line for a process in which nothing runs yet.
    var line: String { "penstock: \(Escape.line(message))" }
}
