import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Subprocess
import Synchronization
import Testing

/// A folder with a file of queues, and the processes that were started there.
final class Site: Sendable {
    let folder: String
    let file: String
    private let children = Mutex<[Child]>([])

    private init(folder: String) {
        self.folder = folder
        file = "\(folder)/test.db"
    }

    /// Calls `body` with a new site. What still runs afterwards is killed, and the folder is removed.
    static func use(_ body: (Site) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "penstock-proof-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let site = Site(folder: folder)
        let result = await Result.of {
            // A proof that is out of time ends because its processes do.
            try await withTaskCancellationHandler {
                try await body(site)
            } onCancel: {
                site.killAll()
            }
        }
        site.killAll()
        for child in site.children.withLock({ $0 }) { _ = try? await child.end }
        try result.get()
    }

    private func killAll() {
        for child in children.withLock({ $0 }) { child.send(SIGKILL) }
    }

    // MARK: The program

    /// Where the build put the program.
    static let program = built("penstock")
    /// Where it put the stream that a proof kills.
    static let pipeline = built("PenstockPipeline")
    /// Where it put the handler with steps that a proof kills.
    static let stepper = built("PenstockStepper")

    /// A program of this package: it is beside the test bundle.
    private static func built(_ name: String) -> FilePath { FilePath(BuiltPrograms.path(name)) }

    /// Starts `penstock` with `arguments`, on the site's file unless they name another.
    ///
    /// - Parameters:
    ///   - input: its standard input, which is closed here; `nil`: nothing.
    ///   - output: where its standard output goes; `nil`: into its end.
    func start(
        _ arguments: [String], input: FileDescriptor? = nil, output: FileDescriptor? = nil
    ) async throws -> Child {
        try await start(Self.program, arguments, input: input, output: output)
    }

    /// Runs `penstock` with `arguments` to its end.
    @discardableResult
    func run(_ arguments: [String], input: some Sequence<UInt8> = []) async throws -> Child.End {
        try await start(arguments, input: descriptor(of: input)).end
    }

    /// Sends SIGTERM to workers, and records an issue unless each stops in order.
    ///
    /// One that SIGTERM meets before the program has begun is ended by it, as any program. So what a worker does with the
    /// signal is shown by tests that know theirs to be at work; this is for workers that may have started a moment ago.
    func stop(_ workers: [Child], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers {
            let end = try await worker.end
            let isInOrder = end.status == .exited(0) || (end.status == .signaled(SIGTERM) && end.errors.isEmpty)
            #expect(isInOrder, "\(end.status): \(end.errors); \(Proofs.repeatable)", sourceLocation: sourceLocation)
        }
    }

    /// Runs `penstock`, and records an issue when it does not end well.
    @discardableResult
    func succeed(
        _ arguments: [String], input: some Sequence<UInt8> = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Child.End {
        let end = try await run(arguments, input: input)
        #expect(end.status == .exited(0), "\(arguments): \(end.errors)", sourceLocation: sourceLocation)
        return end
    }

    /// Runs `penstock`, and records an issue unless it ends with `status`, no output, and one sentence that contains
    /// `words`.
    func fail(
        _ arguments: [String], input: some Sequence<UInt8> = [], with status: Int32, saying words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let end = try await run(arguments, input: input)
        #expect(end.status == .exited(status), "\(arguments): \(end.errors)", sourceLocation: sourceLocation)
        #expect(end.output == "", sourceLocation: sourceLocation)
        #expect(end.errors.contains(words), "\(end.errors)", sourceLocation: sourceLocation)
        #expect(
            end.errors.hasPrefix("penstock: ") && end.errors.hasSuffix("\n")
                && end.errors.count(where: { $0 == "\n" }) == 1,
            "not one line: \(end.errors)", sourceLocation: sourceLocation)
    }

    /// Records an issue unless `penstock doctor` finds the file and its workers well.
    func expectHealthy(
        besides warning: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let end = try await run(["doctor"])
        let warnings = end.lines.filter { !$0.hasPrefix("ok ") && !$0.hasPrefix("note ") }
        #expect(
            end.status == .exited(0) && warnings.count == (warning == nil ? 0 : 1)
                && warnings.allSatisfy { $0.contains(warning ?? "") },
            "\(end.output)\(end.errors)", sourceLocation: sourceLocation)
    }

    // MARK: Others

    /// Runs the sqlite3 shell on the site's file, or another one, to its end.
    func shell(_ statements: String, file: String? = nil) async throws -> Child.End {
        let shell = try await Executable.name("sqlite3").resolveExecutablePath(in: .inherit)
        return try await start(
            shell, ["-bail", file ?? self.file], input: descriptor(of: statements.utf8), output: nil
        ).end
    }

    func start(
        _ path: FilePath, _ arguments: [String], input: FileDescriptor?, output: FileDescriptor?
    ) async throws -> Child {
        let child = try await Child.start(
            Child.Order(
                path: path, arguments: arguments, environment: .inherit.updating(["PENSTOCK_DB": file]), folder: folder,
                input: try input ?? .open("/dev/null", .readOnly), output: output))
        children.withLock { $0.append(child) }
        if Task.isCancelled { child.send(SIGKILL) }
        return child
    }

    /// A file with `bytes` in it, opened for reading, which is gone when it is closed.
    func descriptor(of bytes: some Sequence<UInt8>) throws -> FileDescriptor {
        let path = try write("input-\(UUID().uuidString)", bytes)
        defer { unlink(path) }
        return try .open(FilePath(path), .readOnly)
    }

    /// Writes a file of the folder.
    ///
    /// - Returns: its path.
    @discardableResult
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let path = "\(folder)/\(name)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    // MARK: The file as others see it

    /// Reads from the file beside whoever works on it.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        let queue = try DatabaseQueue(path: file, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    /// The first column of each row, as text.
    func column(_ query: String, _ arguments: StatementArguments = []) throws -> [String] {
        try read { try String.fetchAll($0, sql: query, arguments: arguments) }
    }

    /// The number that `query` asks for; 0 when there is none.
    func number(_ query: String, _ arguments: StatementArguments = []) throws -> Int {
        try read { try Int.fetchOne($0, sql: query, arguments: arguments) ?? 0 }
    }
}
