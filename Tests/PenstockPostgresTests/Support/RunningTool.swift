import Foundation
import Synchronization

/// A process of the built `penstock` that runs beside the test, here or on another host.
final class RunningTool: Sendable {
    let lines: ToolLines
    private let process: ChildProcess

    /// - Parameters:
    ///   - prefix: the words before the command that have it run on another host.
    ///   - lines: where its standard output goes; others may write there, too.
    init(_ arguments: [String], at url: String, _ prefix: [String] = [], to lines: ToolLines = ToolLines()) throws {
        self.lines = lines
        process = try ChildProcess(
            prefix + ["\(Tool.path)"] + arguments, environment: ["PENSTOCK_DB": url],
            output: lines.writeEnd, errors: .standardError)
    }

    deinit { send(SIGKILL) }

    func send(_ signal: Int32) { process.send(signal) }

    /// The status, or the signal, with which it ended, once it has.
    func end() async -> Int32 { await process.end() }
}

/// What processes write, line by line.
final class ToolLines: Sendable {
    private let pipe = Pipe()
    private let pending = Mutex<[UInt8]>([])
    // A queue of its own: a blocked thread of the global queue would be one less for others.
    private let queue = DispatchQueue(label: "lines of tools")

    var writeEnd: FileHandle { pipe.fileHandleForWriting }

    /// From now on the end comes when no process is left that could write.
    func closeWriteEnd() { pipe.fileHandleForWriting.closeFile() }

    /// The next line; `nil` at the end.
    func next() async -> String? {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                while true {
                    let line: String? = pending.withLock { bytes in
                        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                        defer { bytes.removeSubrange(...end) }
                        return String(decoding: bytes[..<end], as: UTF8.self)
                    }
                    if let line { return continuation.resume(returning: line) }
                    let more = pipe.fileHandleForReading.availableData
                    if more.isEmpty { return continuation.resume(returning: nil) }
                    pending.withLock { $0 += more }
                }
            }
        }
    }

    /// The next `count` lines, or as many as there are before the end.
    func next(_ count: Int) async -> [String] {
        var lines: [String] = []
        while lines.count < count, let line = await next() { lines.append(line) }
        return lines
    }
}
