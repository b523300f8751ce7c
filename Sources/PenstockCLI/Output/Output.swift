import PenstockFormats

/// Standard output, gathered into large writes.
///
/// It belongs to the main actor: a write to a slow reader blocks the main thread, and no thread of the pool.
@MainActor
final class Output {
    private var pending: [UInt8] = []
    private static let pendingBytesMax = 64 * 1024

    var isTerminal: Bool { Descriptor.standardOutput.isTerminal }

    func line(_ text: String) throws(Failure) {
        pending += text.utf8
        pending.append(UInt8(ascii: "\n"))
        try flushIfLarge()
    }

    func line(_ value: JSONValue) throws(Failure) {
        value.write(to: &pending)
        pending.append(UInt8(ascii: "\n"))
        try flushIfLarge()
    }

    /// Adds `value`, or `text` instead.
    func line(
        _ value: @autoclosure () -> JSONValue, or text: @autoclosure () -> String, isJSON: Bool
    ) throws(Failure) {
        if isJSON { try line(value()) } else { try line(text()) }
    }

    func table(_ table: Table) throws(Failure) { for line in table.lines { try self.line(line) } }

    func raw(_ bytes: some Sequence<UInt8>) throws(Failure) {
        pending += bytes
        try flushIfLarge()
    }

    /// Writes what was added. Each command does this at its end, and where it waits.
    func flush() throws(Failure) {
        guard !pending.isEmpty else { return }
        let bytes = pending
        pending.removeAll(keepingCapacity: true)
        do throws(SystemFailure) {
            try Descriptor.standardOutput.write(bytes)
        } catch {
            throw Failure(.inputOutput, "Standard output cannot be written (\(error)); free some room or redirect it.")
        }
    }

    /// Writes what a command has read, to the end: `values` as lines of JSON, or `lines` instead.
    func show(
        _ values: @autoclosure () -> [JSONValue], or lines: @autoclosure () -> [String], isJSON: Bool
    ) throws(Failure) {
        if isJSON {
            for value in values() { try line(value) }
        } else {
            for text in lines() { try line(text) }
        }
        try flush()
    }

    /// Writes with `show` what a command has done, and says it in the error when that cannot be written. The status is one
    /// that does not ask for another try.
    ///
    /// - Parameter done: what was done, as a sentence; `nil`: nothing was changed.
    func answer(_ done: String?, _ show: () throws(Failure) -> Void) throws(Failure) {
        // A reader that has ended would end this process without a word.
        if done != nil { _ = signal(SIGPIPE, SIG_IGN) }
        do throws(Failure) {
            try show()
            try flush()
        } catch {
            guard let done else { throw error }
            throw Failure(.outcomeUnknown, "\(done) \(error.message)")
        }
    }

    /// Writes what a command has done: `sentence`, or `json` instead.
    func answer(_ sentence: String, _ json: JSONValue, isJSON: Bool, isChange: Bool = true) throws(Failure) {
        try answer(isChange ? "\(sentence) But that cannot be shown." : nil) { () throws(Failure) in
            try line(json, or: sentence, isJSON: isJSON)
        }
    }

    private func flushIfLarge() throws(Failure) {
        if pending.count >= Self.pendingBytesMax { try flush() }
    }
}
