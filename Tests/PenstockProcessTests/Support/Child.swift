import Foundation
import PenstockTestKit
import Subprocess
import Synchronization

/// A process that a test started, until its end.
struct Child: Sendable {
    /// How a process ended.
    struct End: Sendable {
        var status: TerminationStatus
        /// What it wrote to standard output, when that was not sent elsewhere.
        var bytes: [UInt8]
        /// What it wrote to standard error.
        var errors: String

        var output: String { String(decoding: bytes, as: UTF8.self) }
        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// What to start, and with what.
    struct Order: Sendable {
        var path: FilePath
        var arguments: [String]
        var environment: Environment
        var folder: String
        /// Closed once the process has it.
        var input: FileDescriptor
        /// Where standard output goes; `nil`: into ``End/bytes``. It stays open.
        var output: FileDescriptor?
    }

    private let life: Life
    private let task: Task<End, any Error>

    /// The process's number.
    var id: Int32 { life.id }

    /// How it ended, once it has.
    var end: End {
        get async throws { try await task.value }
    }

    /// Sends `signal`, unless the process has ended.
    ///
    /// - Returns: whether it was there to get it.
    @discardableResult
    func send(_ signal: Int32) -> Bool {
        life.send(signal)
    }

    /// Stops the process, as a debugger does, and returns once it stands still: until then its threads go on.
    ///
    /// - Returns: whether it was there to be stopped.
    func stop() -> Bool {
        life.stop()
    }

    /// Returns once the process has written `words` to standard error, or has ended.
    func waitUntilItSays(_ words: String) async {
        // Throws when the test is cancelled, and then its processes end as well.
        try? await eventually { life.hasSaid(words) || !life.send(0) }
    }

    /// Returns once the process has started.
    static func start(_ order: Order) async throws -> Child {
        let (started, starting) = AsyncThrowingStream.makeStream(of: Life.self)
        let task = Task {
            do {
                return try await run(order) { starting.yield($0) }
            } catch {
                starting.finish(throwing: error)
                throw error
            }
        }
        for try await life in started { return Child(life: life, task: task) }
        // The stream ends early when this task is cancelled.
        _ = try? await task.value
        throw CancellationError()
    }

    private static func run(_ order: Order, started: @Sendable (Life) -> Void) async throws -> End {
        let capturing = try order.output == nil ? Capture(in: order.folder) : nil
        defer { capturing?.close() }
        let result = try await Subprocess.run(
            .path(order.path), arguments: Arguments(order.arguments), environment: order.environment,
            workingDirectory: FilePath(order.folder),
            input: .fileDescriptor(order.input, closeAfterSpawningProcess: true),
            output: .fileDescriptor(
                order.output ?? capturing?.descriptor ?? .standardOutput, closeAfterSpawningProcess: false),
            error: .sequence
        ) { execution in
            let life = Life(id: execution.processIdentifier.value)
            // Until here the process is not waited for, so its number is nobody else's.
            defer { life.end() }
            started(life)
            var errors: [UInt8] = []
            for try await chunk in execution.standardError {
                chunk.withUnsafeBytes { errors += $0 }
                life.errors.withLock { $0 = errors }
            }
            return String(decoding: errors, as: UTF8.self)
        }
        return End(
            status: result.terminationStatus, bytes: try capturing?.bytes() ?? [], errors: result.closureResult)
    }

    /// Whether the process may still be sent signals: its number is its own until it has been waited for.
    private final class Life: Sendable {
        let id: Int32
        /// What it has written to standard error so far.
        let errors = Mutex<[UInt8]>([])

        func hasSaid(_ words: String) -> Bool {
            errors.withLock { String(decoding: $0, as: UTF8.self).contains(words) }
        }

        private let isOver = Mutex(false)

        init(id: Int32) {
            self.id = id
        }

        func send(_ signal: Int32) -> Bool {
            isOver.withLock { !$0 && kill(id, signal) == 0 }
        }

        func stop() -> Bool {
            guard send(SIGSTOP) else { return false }
            var facts = siginfo_t()
            // It is looked at and left for whoever waits for its end.
            return waitid(P_PID, id_t(id), &facts, WSTOPPED | WEXITED | WNOWAIT) == 0
        }

        func end() {
            isOver.withLock { $0 = true }
        }
    }

    /// A file that takes a process's standard output: nobody has to read along.
    private struct Capture {
        let descriptor: FileDescriptor
        private let path: FilePath

        init(in folder: String) throws {
            path = FilePath("\(folder)/output-\(UUID().uuidString)")
            descriptor = try .open(path, .readWrite, options: [.create, .append], permissions: .ownerReadWrite)
        }

        func bytes() throws -> [UInt8] {
            try [UInt8](Data(contentsOf: URL(filePath: path.string)))
        }

        func close() {
            try? descriptor.close()
            unlink(path.string)
        }
    }
}
