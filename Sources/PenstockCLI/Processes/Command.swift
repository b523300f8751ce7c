import Penstock
import PenstockCore
import Subprocess
import Synchronization

/// A program and its arguments, which a worker starts anew for each message.
struct Command: Sendable {
    struct End: Sendable, Hashable {
        var status: TerminationStatus
        var errorTail: String
        /// What it wrote to standard output, when that is kept.
        var output: KeptOutput?

        /// How it ended, with the end of its standard error.
        var text: String {
            let how =
                switch status {
                case .exited(let code): "exit status \(code)"
                case .signaled(let number): "killed by signal \(number)"
                }
            return errorTail.isEmpty ? how : "\(how): \(errorTail)"
        }
    }

    /// Bytes of standard error that are kept: with the status in front they fit into an attempt's error.
    static let errorTailBytesMax = Limits.errorTextBytesMax - 64

    let path: FilePath
    /// The command as it was typed, which becomes its argument 0.
    let name: String
    let arguments: [String]
    /// How long it may run before it is told to stop; `nil`: as long as it likes.
    var timeout: Duration?
    /// How long after SIGTERM it is killed.
    var stopTime: Duration = .seconds(5)
    var clock: any Clock<Duration> = ContinuousClock()
    var output: FileDescriptor = .standardOutput
    /// Of how many bytes its standard output is kept, and then goes nowhere else; `nil`: it is not.
    var keptBytesMax: Int?
    /// Says what it cannot be started for at this moment, before that is tried.
    var shortage: @Sendable () -> Shortage? = { nil }
    /// Is told when it cannot be started for now, once for each run.
    var onShortage: @Sendable (Shortage) -> Void = { _ in }
    /// Whether the library that has started a process of it never sees its end.
    var isUnseen: @Sendable (ProcessIdentifier) -> Bool = ChildProcess.isUnseen

    /// Between two tries to start it where the system has too little of something.
    static let shortagePause = Duration.seconds(1)

    /// Runs the command with `payload` as its standard input, in a group of `guardians`.
    ///
    /// When `stop` is made, its time is over, it writes more than is kept or the calling task is cancelled, the command's group gets SIGTERM, and SIGKILL after
    /// ``stopTime``; this returns when the command has ended either way, and whatever is left of its group is killed
    /// then. Where the system has not what a process takes, it is tried again until it has.
    ///
    /// - Parameters:
    ///   - variables: what is set in the command's environment or, when it is `nil`, taken out.
    ///   - passError: gets what the command writes to standard error.
    /// - Throws: `CancellationError` when it was stopped before the command was started; ``Failure`` when the command
    ///   cannot be started, or its end cannot be seen.
    func run(
        payload: [UInt8],
        variables: [Environment.Key: String?],
        in guardians: Guardians,
        stop: StopRequest = StopRequest(),
        passError: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws -> End {
        var isTold = false
        while true {
            do {
                if let shortage = shortage() { throw shortage }
                return try await start(payload, variables, in: guardians, stop, passError)
            } catch let lost as LostProcess {
                // Also while there is too little of something: it has been started.
                throw lost.failure(of: name)
            } catch {
                // What fails while there is too little of something fails for that.
                guard let shortage = error as? Shortage ?? (error is Failure ? shortage() : nil) else { throw error }
                if !isTold { onShortage(shortage) }
                isTold = true
                // Its message is kept meanwhile, as if the command ran.
                if await stop.wait(upTo: Self.shortagePause, on: clock) { throw CancellationError() }
                try Task.checkCancellation()
            }
        }
    }

    private func start(
        _ payload: [UInt8],
        _ variables: [Environment.Key: String?],
        in guardians: Guardians,
        _ stop: StopRequest,
        _ passError: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws -> End {
        // A guardian that somebody kills is replaced; one that cannot stay alive three times is no accident.
        for _ in 0..<3 {
            let end = try await guardians.withGroup { group in
                try await run(payload, variables, in: group, stop, passError)
            }
            if let end { return end }
        }
        throw Failure(.software, "The process that guards the command was killed three times over.")
    }

    /// - Returns: `nil` when the group had no guardian any more, so that the command was not started.
    private func run(
        _ payload: [UInt8],
        _ variables: [Environment.Key: String?],
        in group: ProcessGroup,
        _ stop: StopRequest,
        _ passError: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws -> End? {
        let end: End? = try await withTaskCancellationHandler {
            // A task that is cancelled already has made the request by now.
            if stop.cause != nil { throw CancellationError() }
            // Answered before the library returns when that would never be.
            let outcome = Waiter<End?>()
            // The task that runs the command is never cancelled: the library would close the command's pipes and kill
            // it then and there, and what it still has to say would be lost. It is told to stop in words of its own.
            Task {
                let result: Swift.Result<End?, any Error> = await .of {
                    try await withThrowingTaskGroup(of: Void.self) { tasks in
                        let begun = Latch()
                        tasks.addTask { await carryOut(stop, in: group) }
                        if let timeout { tasks.addTask { await make(stop, after: timeout, from: begun) } }
                        defer { tasks.cancelAll() }
                        return try await spawn(payload, variables, in: group, begun, stop, outcome, passError)
                    }
                }
                outcome.answer(result)
            }
            return try await outcome.waitThoughCancelled()
        } onCancel: {
            stop.make(.cancelled)
        }
        if stop.cause != nil { group.kill() }
        return end
    }

    /// Stops what runs in `group` once that is asked for: by SIGTERM and, after ``stopTime``, by SIGKILL.
    func carryOut(_ stop: StopRequest, in group: ProcessGroup) async {
        guard await stop.wait() else { return }
        group.terminate()
        // When the command has ended by itself, this wait is cancelled.
        guard (try? await clock.sleep(for: stopTime)) != nil else { return }
        group.kill()
    }

    private func spawn(
        _ payload: [UInt8],
        _ variables: [Environment.Key: String?],
        in group: ProcessGroup,
        _ begun: Latch,
        _ stop: StopRequest,
        _ outcome: Waiter<End?>,
        _ passError: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws -> End? {
        guard group.isLed else { return nil }
        let input = try PayloadInput.open(payload)
        defer { try? input.close() }
        func began(_ process: ProcessIdentifier) {
            if isUnseen(process) {
                group.kill()
                outcome.answer(.failure(LostProcess()))
            }
            // If the guardian has ended by now, nobody watches over the command.
            if !group.isLed { group.killLateComers() }
            // A stop that was asked for while the command was started has found nobody in the group.
            if stop.cause != nil { group.terminate() }
            begun.open()
        }
        let tail = ErrorTail(bytesMax: Self.errorTailBytesMax)
        func passing(of id: Int32) -> ErrorPassing {
            ErrorPassing(clock: clock, isOver: { stop.cause != nil || ChildProcess.hasEnded(id) }, pass: passError)
        }
        let configuration = configuration(in: group, variables)
        do {
            if let keptBytesMax {
                let result = try await Subprocess.run(
                    configuration, input: .fileDescriptor(input, closeAfterSpawningProcess: false), output: .sequence,
                    error: .sequence
                ) { execution -> (error: String, output: KeptOutput) in
                    began(execution.processIdentifier)
                    let id = execution.processIdentifier.value
                    let written = Mutex(0)
                    async let output = Self.read(
                        execution.standardOutput, of: id, into: KeptOutput(bytesMax: keptBytesMax)
                    ) { bytes in
                        let count = written.withLock { count in
                            count += bytes.count
                            return count
                        }
                        // Nothing that it still does can help the attempt, and it may go on for ever.
                        if count > keptBytesMax { stop.make(.output) }
                    }
                    let error = await Self.read(
                        execution.standardError, of: id, into: tail, passing(of: id).write)
                    return (error.text, await output)
                }
                return End(
                    status: result.terminationStatus, errorTail: result.closureResult.error,
                    output: result.closureResult.output)
            }
            let result = try await Subprocess.run(
                configuration, input: .fileDescriptor(input, closeAfterSpawningProcess: false),
                output: .fileDescriptor(output, closeAfterSpawningProcess: false), error: .sequence
            ) { execution -> String in
                began(execution.processIdentifier)
                let id = execution.processIdentifier.value
                return await Self.read(execution.standardError, of: id, into: tail, passing(of: id).write).text
            }
            return End(status: result.terminationStatus, errorTail: result.closureResult)
        } catch let error as SubprocessError {
            if begun.isOpen {
                group.kill()
                throw LostProcess(reason: "\(error)")
            }
            guard group.isLed else { return nil }
            throw failure(toStart: error)
        }
    }

    /// How a process of it is started.
    func configuration(in group: ProcessGroup, _ variables: [Environment.Key: String?]) -> Configuration {
        var options = PlatformOptions()
        options.processGroupID = group.id
        return Configuration(
            executable: .path(path), arguments: Arguments(executablePathOverride: name, remainingValues: arguments),
            environment: .ofThisProcess.updating(variables), platformOptions: options)
    }

    /// What it means that the library could not start it: a ``Shortage``, or a ``Failure``.
    func failure(toStart error: SubprocessError) -> any Error {
        if let shortage = Shortage(error) { return shortage }
        if error.code == .executableNotFound, name.contains("/"), access(name, F_OK) == 0 {
            return Failure(
                .cannotRun,
                "The command '\(name)' is there and cannot be run; is what its first line names after '#!' installed?")
        }
        if error.underlyingError?.rawValue == ENOEXEC {
            return Failure(
                .cannotRun, "The command '\(name)' is no program; a script begins with a line such as '#!/bin/sh'.")
        }
        let status: ShellStatus = error.code == .executableNotFound ? .commandNotFound : .cannotRun
        return Failure(status, "The command '\(name)' could not be started: \(error)")
    }

    /// Its time begins when it has been started, and ends with the task.
    private func make(_ stop: StopRequest, after timeout: Duration, from begun: Latch) async {
        guard (try? await begun.wait()) != nil, (try? await clock.sleep(for: timeout)) != nil else { return }
        stop.make(.timeout)
    }

    /// Reads until the command `id` has ended, and then what is still in the pipe: something that it has left running
    /// may hold the pipe open, and write to it for ever.
    static func read<Gathered: OutputGathering>(
        _ chunks: SubprocessOutputSequence, of id: Int32, into gathered: Gathered,
        _ pass: @Sendable ([UInt8]) async -> Void = { _ in }
    ) async -> Gathered {
        var gathered = gathered
        var left: Int?
        do {
            for try await chunk in chunks {
                let bytes = chunk.withUnsafeBytes { Array($0) }
                gathered.append(bytes)
                await pass(bytes)
                if let known = left {
                    left = known - bytes.count
                } else if ChildProcess.hasEnded(id) {
                    left = pipeBytesMax
                }
                if let left, left <= 0 { break }
            }
        } catch {
            // What was read stands; that the rest cannot be had does not change how the command ended.
        }
        return gathered
    }

    /// No pipe of ours holds more.
    private static let pipeBytesMax = 64 * 1024
}
