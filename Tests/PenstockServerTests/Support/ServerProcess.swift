import Foundation
import PenstockCore
import PenstockTestKit
import Subprocess
import SystemPackage

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `penstock serve` as a process of its own.
struct ServerProcess: Sendable {
    let port: Int
    private let id: ProcessIdentifier
    private let termination: Task<TerminationStatus, any Error>

    /// How it ended, once it has.
    var end: TerminationStatus {
        get async throws { try await termination.value }
    }

    /// Calls `body` with a server on a file in `folder`, or on the store at an address, and then ends it with `signal`.
    ///
    /// - Parameters:
    ///   - filesMax: how many files it may have open; `nil`: as many as the tests.
    ///   - log: where its log is written; `nil`: to the tests' own.
    static func run<Value: Sendable>(
        in folder: TemporaryFolder = TemporaryFolder(), at address: String? = nil, options: [String] = [],
        filesMax: Int? = nil, log: String? = nil, endingWith signal: Int32 = SIGTERM,
        _ body: @escaping @Sendable (ServerProcess) async throws -> Value
    ) async throws -> Value {
        let environment = Environment.inherit.updating(["PENSTOCK_DB": address ?? folder.file("penstock.db")])
        let errors =
            try log.map { try FileDescriptor.open($0, .writeOnly, options: .create, permissions: .ownerReadWrite) }
        defer { try? errors?.close() }
        let made = try await Subprocess.run(
            .path(FilePath(BuiltPrograms.path("penstock"))), arguments: ["queue", "create", "made", "--if-absent"],
            environment: environment, output: .discarded)
        guard made.terminationStatus.isSuccess else { throw PenstockError(.storage, "No file was made.") }
        let (started, starting) = AsyncThrowingStream.makeStream(of: (ProcessIdentifier, Int).self)
        let task = Task {
            do {
                let (program, arguments) = limited(filesMax, ["serve", "--listen", "127.0.0.1:0"] + options)
                return try await Subprocess.run(
                    program, arguments: arguments, environment: environment, input: .none,
                    output: .sequence,
                    error: .fileDescriptor(errors ?? .standardError, closeAfterSpawningProcess: false)
                ) { execution in
                    var said = ""
                    for try await part in execution.standardOutput {
                        part.withUnsafeBytes { said += String(decoding: $0, as: UTF8.self) }
                        guard let match = said.firstMatch(of: #/http:\/\/127\.0\.0\.1:(\d+)\/\n/#),
                            let port = Int(match.output.1)
                        else { continue }
                        starting.yield((execution.processIdentifier, port))
                    }
                    starting.finish()
                }.terminationStatus
            } catch {
                starting.finish(throwing: error)
                throw error
            }
        }
        var iterator = started.makeAsyncIterator()
        guard let (id, port) = try await iterator.next() else {
            throw PenstockError(.storage, "The server has not started: \(try await task.value)")
        }
        let server = ServerProcess(port: port, id: id, termination: task)
        let value: Value
        do {
            value = try await body(server)
        } catch {
            kill(id.value, SIGKILL)
            _ = await task.result
            throw error
        }
        kill(id.value, signal)
        _ = try await task.value
        return value
    }

    /// Runs a server that is not to start.
    static func refused(
        in folder: TemporaryFolder, options: [String], filesMax: Int? = nil
    ) async throws -> (status: TerminationStatus, output: String, errors: String) {
        let (program, arguments) = limited(filesMax, ["serve"] + options)
        let ended = try await Subprocess.run(
            program, arguments: arguments, environment: .inherit.updating(["PENSTOCK_DB": folder.file("penstock.db")]),
            output: .string(limit: 4096), error: .string(limit: 4096))
        return (ended.terminationStatus, ended.standardOutput, ended.standardError)
    }

    /// The command with `words`, in a process that may have so many files open.
    private static func limited(_ filesMax: Int?, _ words: [String]) -> (Executable, Arguments) {
        let command = BuiltPrograms.path("penstock")
        guard let filesMax else { return (.path(FilePath(command)), Arguments(words)) }
        let script = "ulimit -n \(filesMax) && exec \"$0\" \"$@\""
        return (.path("/bin/sh"), Arguments(["-c", script, command] + words))
    }

    /// Tells it to stop.
    func stop() {
        kill(id.value, SIGTERM)
    }

    /// Sends it a signal.
    func send(signal: Int32) {
        kill(id.value, signal)
    }

    /// A client of its own.
    func client() throws -> RawClient { try RawClient(port: port) }

    /// Makes a request, and returns the answer, head and body.
    func answer(
        _ method: String, _ path: String, _ body: String = "", headers: [String: String] = [:]
    ) async throws -> String {
        let client = try client()
        try client.request(
            method, path, headers: headers.merging(["Connection": "close"]) { own, _ in own }, body: body)
        return try await client.receive()
    }

    /// Makes a request, and returns the body of the answer.
    @discardableResult
    func send(
        _ method: String, _ path: String, _ body: String = "", headers: [String: String] = [:]
    ) async throws -> String {
        let answer = try await answer(method, path, body, headers: headers)
        return answer.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
    }
}
