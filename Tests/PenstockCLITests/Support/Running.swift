import Subprocess

/// A run of `penstock` that goes on while the test does.
struct Running: Sendable {
    let processID: Int32
    /// What it and its commands write. Read to its end, everything that held it is gone.
    let output: TestPipe
    /// What it says.
    let errors: TestPipe
    private let end: Task<TerminationStatus, any Error>
    /// Its folder stays for as long as it runs.
    private let tool: Tool

    /// Starts the program.
    static func start(_ tool: Tool, _ arguments: [String]) async throws -> Running {
        let output = try TestPipe()
        let errors = try TestPipe()
        let (started, starting) = AsyncThrowingStream.makeStream(of: Int32.self)
        let end = Task {
            do {
                return try await Subprocess.run(
                    .path(Tool.path), arguments: Arguments(arguments), environment: .inherit.updating(tool.variables),
                    workingDirectory: FilePath(tool.folder), input: .none,
                    output: .fileDescriptor(output.writeEnd, closeAfterSpawningProcess: true),
                    error: .fileDescriptor(errors.writeEnd, closeAfterSpawningProcess: true)
                ) { execution in
                    starting.yield(execution.processIdentifier.value)
                    starting.finish()
                }.terminationStatus
            } catch {
                starting.finish(throwing: error)
                throw error
            }
        }
        for try await processID in started {
            return Running(processID: processID, output: output, errors: errors, end: end, tool: tool)
        }
        throw CancellationError()
    }

    func signal(_ number: Int32) {
        _ = kill(processID, number)
    }

    /// How it ended, once it has.
    var status: TerminationStatus {
        get async throws { try await end.value }
    }
}

/// A file that a command waits at until the test lets it go.
struct Gate: Sendable {
    let path: String
    private let file: FileDescriptor

    init(in tool: Tool, _ name: String = "gate") throws {
        path = "\(tool.folder)/\(name)"
        guard mkfifo(path, 0o600) == 0 else { throw Errno(rawValue: errno) }
        // Opened both ways, it waits for nobody.
        file = try .open(FilePath(path), .readWrite)
    }

    /// Lets `count` commands go that wait, or will, with `read`.
    func open(for count: Int = 1) throws {
        _ = try file.writeAll(Array(repeating: UInt8(ascii: "\n"), count: count))
    }
}
