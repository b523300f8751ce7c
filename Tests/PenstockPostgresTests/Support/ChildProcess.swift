import CPenstockTests
import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// A process that a test has started, until its end.
///
/// It has nothing open of this process but its three files. Foundation's processes have whatever is open as they start: a server that
/// outlives its test would hold the pipes of others, whose readers wait for an end that does not come, and ends of processes, which
/// Foundation hears of by such a descriptor, would go unheard.
final class ChildProcess: Sendable {
    private let id: pid_t
    /// The status, or the signal, with which it ended.
    private let status = Mutex<Int32?>(nil)
    private let hasEnded = Latch()

    /// - Parameters:
    ///   - words: a program's path, and what it is given.
    ///   - input: what it reads, as `output` and `errors` are what it writes; `nil`: nothing.
    ///   - outlives: whether it goes on when this process is told to end by a signal to its group, such as a terminal's.
    init(
        _ words: [String], environment: [String: String] = [:], input: FileHandle? = nil, output: FileHandle? = nil,
        errors: FileHandle? = nil, outlives: Bool = false
    ) throws {
        id = try Self.start(words, environment, [input, output, errors], outlives)
        do {
            try SystemThread.start("child process") { [self] in waitForEnd() }
        } catch {
            kill(id, SIGKILL)
            throw error
        }
    }

    /// - Returns: its number, which has to be waited for.
    fileprivate static func start(
        _ words: [String], _ environment: [String: String] = [:], _ files: [FileHandle?] = [nil, nil, nil],
        _ outlives: Bool = false
    ) throws -> pid_t {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let texts = words.map { strdup($0) } + [nil]
        let assignments = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in texts + assignments { free(text) } }
        let files = files.map { $0?.fileDescriptor ?? -1 }
        var id: pid_t = 0
        // Another user's server cannot look at this folder.
        let failure = penstock_start_child(texts, assignments, files, "/tmp", outlives ? 1 : 0, &id)
        guard failure == 0 else {
            let reason = String(cString: strerror(failure))
            throw PostgresServer.Failure(description: "\(words[0]) cannot be run: \(reason)")
        }
        return id
    }

    /// Waits in the kernel for the end.
    ///
    /// - Returns: the status, or the signal, with which it ended.
    fileprivate static func wait(for id: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) != id, errno == EINTR {}
        // As waitpid(2) has it: the signal in the lowest seven bits, and the status in the next eight.
        return status & 0x7f == 0 ? (status >> 8) & 0xff : status & 0x7f
    }

    /// On a thread of its own. The process's number stays its own until this has taken note of the end.
    private func waitForEnd() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        status.withLock { $0 = Self.wait(for: id) }
        hasEnded.open()
    }

    /// Sends a signal, unless it has ended.
    func send(_ signal: Int32) {
        status.withLock { status in
            if status == nil { kill(id, signal) }
        }
    }

    /// The status, or the signal, with which it ended, once it has.
    func end() async -> Int32 {
        await hasEnded.waitThoughCancelled()
        return status.withLock { $0 } ?? -1
    }
}

/// A script that does its work once the test's process lets go of it or ends, by whatever means: it reads from a pipe that this process
/// holds open until then.
final class ClosingScript: Sendable {
    private let input = Pipe()

    /// - Parameters:
    ///   - words: the shell and what it is given, of which the script does `read end || true` before its work.
    ///   - output: where it writes to; `nil`: nowhere.
    init(_ words: [String], output: FileHandle? = nil) throws {
        _ = try ChildProcess(words, input: input.fileHandleForReading, output: output, outlives: true)
        input.fileHandleForReading.closeFile()
    }

    deinit { input.fileHandleForWriting.closeFile() }
}

/// A short command of the system's, run to its end on the caller's thread.
enum SystemCommand {
    static func run(_ words: [String]) throws {
        guard ChildProcess.wait(for: try ChildProcess.start(["/usr/bin/env"] + words)) == 0 else {
            throw PostgresServer.Failure(description: "\(words.joined(separator: " ")) did not end well")
        }
    }
}
