import CPenstockTests
import Foundation
import PenstockProcesses
import Synchronization

/// A process that a test has started, until its end.
///
/// It has nothing open of this process but its three files. Foundation's processes have whatever is open as they start: a server that
/// outlives its test would hold the pipes of others, whose readers wait for an end that does not come, and ends of processes, which
/// Foundation hears of by such a descriptor, would go unheard.
final class ChildProcess: Sendable {
    private struct State {
        /// The status, or the signal, with which it ended.
        var end: Int32?
        var listeners: [@Sendable (Int32) -> Void] = []
    }

    private let id: pid_t
    private let state = Mutex(State())

    /// - Parameters:
    ///   - words: a program's path, and what it is given.
    ///   - input: what it reads, as `output` and `errors` are what it writes; `nil`: nothing.
    ///   - outlives: whether it goes on when this process is told to end by a signal to its group, such as a terminal's.
    init(
        _ words: [String], environment: [String: String] = [:], input: FileHandle? = nil, output: FileHandle? = nil,
        errors: FileHandle? = nil, outlives: Bool = false
    ) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let texts = words.map { strdup($0) } + [nil]
        let assignments = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in texts + assignments { free(text) } }
        let files = [input, output, errors].map { $0?.fileDescriptor ?? -1 }
        var id: pid_t = 0
        // Another user's server cannot look at this folder.
        let failure = penstock_start_child(texts, assignments, files, "/tmp", outlives ? 1 : 0, &id)
        guard failure == 0 else {
            let reason = String(cString: strerror(failure))
            throw PostgresServer.Failure(description: "\(words[0]) cannot be run: \(reason)")
        }
        self.id = id
        do {
            try SystemThread.start("child process") { [self] in waitForEnd() }
        } catch {
            kill(id, SIGKILL)
            throw error
        }
    }

    /// On a thread of its own. The process's number stays its own until this has taken note of the end.
    private func waitForEnd() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (end, listeners) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(id, &status, 0) != id, errno == EINTR {}
            // As waitpid(2) has it: the signal in the lowest seven bits, and the status in the next eight.
            let end = status & 0x7f == 0 ? (status >> 8) & 0xff : status & 0x7f
            state.end = end
            defer { state.listeners = [] }
            return (end, state.listeners)
        }
        for listener in listeners { listener(end) }
    }

    /// Sends a signal, unless it has ended.
    func send(_ signal: Int32) {
        state.withLock { state in
            if state.end == nil { kill(id, signal) }
        }
    }

    /// The status, or the signal, with which it ended, once it has.
    func end() async -> Int32 {
        await withCheckedContinuation { continuation in whenEnded { continuation.resume(returning: $0) } }
    }

    /// Tells `listener` the status, or the signal, with which it ended, once it has.
    func whenEnded(_ listener: @escaping @Sendable (Int32) -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.listeners.append(listener) }
            return state.end
        }
        if let end { listener(end) }
    }
}

/// A script that does its work at the end of whoever has made it, by whatever means that comes: it reads from a pipe that is held
/// open until then.
final class ClosingScript: Sendable {
    private let input = Pipe()
    private let process: ChildProcess

    /// - Parameters:
    ///   - words: the shell and what it is given, of which the script does `read end || true` before its work.
    ///   - output: where it writes to; `nil`: nowhere.
    init(_ words: [String], output: FileHandle? = nil) throws {
        process = try ChildProcess(words, input: input.fileHandleForReading, output: output, outlives: true)
        input.fileHandleForReading.closeFile()
    }

    deinit { input.fileHandleForWriting.closeFile() }
}

/// A short command of the system's, run to its end on the caller's thread.
enum SystemCommand {
    static func run(_ words: [String]) throws {
        let hasEnded = DispatchSemaphore(value: 0)
        let status = Mutex<Int32>(-1)
        let process = try ChildProcess(["/usr/bin/env"] + words)
        process.whenEnded { end in
            status.withLock { $0 = end }
            hasEnded.signal()
        }
        hasEnded.wait()
        guard status.withLock({ $0 }) == 0 else {
            throw PostgresServer.Failure(description: "\(words.joined(separator: " ")) did not end well")
        }
    }
}
