import Penstock
import PenstockCore
import Subprocess
import Synchronization

/// One process of a command that stays, from its start to its end.
struct Coprocess: Sendable {
    struct Life: Sendable {
        /// Why there was no more to be said.
        var reason: Dialogue.End
        var end: Command.End
        var answerCount: Int
        /// The message that it had when it ended, and did not answer.
        var unanswered: Job?
        /// Whether it has read nothing of that.
        var isUnread = false

        /// Whether it has read a message, or a part of one.
        var hasRead: Bool { answerCount > 0 || unanswered != nil && !isUnread }
    }

    let command: Command
    let framing: Framing
    let answerBytesMax: Int
    let variables: [Environment.Key: String?]
    let jobs = Jobs()
    let passError: @Sendable ([UInt8]) async -> Void

    /// Starts the process and gives it one message after the other, until it ends or is not needed any more.
    ///
    /// One that is not needed any more has its standard input closed; if it goes on regardless for ``Command/stopTime`` it gets
    /// SIGTERM, and SIGKILL as much later. One that says what it should not, or nothing in time, gets SIGTERM at once. Whatever is
    /// left of its group is killed when it has ended.
    ///
    /// - Returns: `nil` when the group had no guardian any more, so that nothing was started.
    /// - Throws: ``Failure`` when it cannot be started; ``Shortage``; ``LostProcess``.
    func run(in group: ProcessGroup) async throws -> Life? {
        guard group.isLed else { return nil }
        let stop = StopRequest()
        let input = try ChildInput()
        defer { input.close() }
        let place = jobs.join()
        let dialogue = Dialogue(framing, bytesMax: answerBytesMax) { end in
            // What is still being written is not written to its end. The pipe stays open as long as the process lives, so that it
            // does not take the half that it has for the whole.
            if end != .retired { input.giveUp() }
            if end.isBreach { stop.make(.cancelled) }
            jobs.leave(place)
        }
        defer { dialogue.end(.retired) }
        jobs.attend(place, dialogue)
        // Answered before the library returns when that would never be.
        let outcome = Waiter<Life?>()
        let library = Task {
            let result: Swift.Result<Life?, any Error> = await .of {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    let (leaving, leave) = AsyncStream.makeStream(of: Never.self)
                    tasks.addTask { await command.carryOut(stop, in: group) }
                    tasks.addTask {
                        for await _ in leaving {}
                        guard (try? await command.clock.sleep(for: command.stopTime)) != nil else { return }
                        stop.make(.cancelled)
                    }
                    defer { tasks.cancelAll() }
                    return try await spawn(in: group, input, dialogue, place, leave, outcome)
                }
            }
            outcome.answer(result)
        }
        var life = try await withTaskCancellationHandler {
            try await outcome.waitThoughCancelled()
        } onCancel: {
            library.cancel()
        }
        // What it has left running must not go on with a message that another process is given.
        group.kill()
        life?.isUnread = input.isUnread
        return life
    }

    /// The message that a process has.
    private final class Hand: Sendable {
        let job = Mutex<Job?>(nil)
    }

    private func spawn(
        in group: ProcessGroup, _ input: ChildInput, _ dialogue: Dialogue, _ place: Jobs.Place,
        _ leave: AsyncStream<Never>.Continuation, _ outcome: Waiter<Life?>
    ) async throws -> Life? {
        let (hand, begun) = (Hand(), Latch())
        do {
            let result = try await Subprocess.run(
                command.configuration(in: group, variables),
                input: .fileDescriptor(input.childEnd, closeAfterSpawningProcess: true), output: .sequence,
                error: .sequence
            ) { execution -> String in
                begun.open()
                if command.isUnseen(execution.processIdentifier) {
                    group.kill()
                    outcome.answer(.failure(LostProcess()))
                    return ""
                }
                // If the guardian has ended by now, nobody watches over the process.
                if !group.isLed { group.killLateComers() }
                // A stop that was asked for while it was started has found nobody in the group.
                if dialogue.ending?.isBreach == true { group.terminate() }
                let id = execution.processIdentifier.value
                let tail = ErrorTail(bytesMax: Command.errorTailBytesMax)
                let passing = ErrorPassing(
                    clock: command.clock, isOver: { dialogue.ending != nil || ChildProcess.hasEnded(id) },
                    pass: passError)
                async let errors = Command.read(execution.standardError, of: id, into: tail, passing.write)
                async let converse: Void = converse(input, dialogue, place, hand, leave)
                // It reads to the end, or what is left in the pipe when the process has ended.
                _ = await Command.read(execution.standardOutput, of: id, into: Listener(dialogue: dialogue))
                dialogue.end(.closed)
                await converse
                return await errors.text
            }
            return Life(
                reason: dialogue.ending ?? .closed,
                end: Command.End(status: result.terminationStatus, errorTail: result.closureResult),
                answerCount: dialogue.answerCount, unanswered: hand.job.withLock { $0 })
        } catch let error as SubprocessError {
            if begun.isOpen {
                group.kill()
                let lost = LostProcess(reason: "\(error)")
                // No other process is given what it may have done.
                if let job = hand.job.withLock({ $0 }) { jobs.finish(job, .failed(lost.failure(of: command.name))) }
                throw lost
            }
            guard group.isLed else { return nil }
            throw command.failure(toStart: error)
        }
    }

    /// Gives it one message after the other. What it did not answer stays in its hand.
    private func converse(
        _ input: ChildInput, _ dialogue: Dialogue, _ place: Jobs.Place, _ hand: Hand,
        _ leave: AsyncStream<Never>.Continuation
    ) async {
        defer { leave.finish() }
        while let job = await jobs.next(at: place) {
            // It may have ended since it answered the last one.
            guard dialogue.begin() else {
                return jobs.putBack(job)
            }
            hand.job.withLock { $0 = job }
            guard let answer = await exchange(job, input, dialogue) else { return }
            hand.job.withLock { $0 = nil }
            jobs.finish(job, .answered(answer))
        }
        // It finds the end of its standard input, and what it says then is for nobody.
        dialogue.end(.retired)
        input.close()
    }

    private func exchange(_ job: Job, _ input: ChildInput, _ dialogue: Dialogue) async -> Answer? {
        guard let timeout = command.timeout else { return await tell(job, input, dialogue) }
        return await withTaskGroup(of: Answer?.self) { tasks in
            tasks.addTask { await tell(job, input, dialogue) }
            tasks.addTask {
                if (try? await command.clock.sleep(for: timeout)) != nil { dialogue.end(.stopped(.timeout)) }
                return nil
            }
            let first = await tasks.next() ?? nil
            tasks.cancelAll()
            // When its time was over first, the answer is that there is none.
            let second = await tasks.next() ?? nil
            return first ?? second
        }
    }

    private func tell(_ job: Job, _ input: ChildInput, _ dialogue: Dialogue) async -> Answer? {
        if await !input.write(job.bytes) { dialogue.end(.closed) }
        return await dialogue.answer()
    }
}

/// Hands on what a process writes.
private struct Listener: OutputGathering {
    let dialogue: Dialogue

    func append(_ more: [UInt8]) { more.withUnsafeBytes { dialogue.received($0) } }
}
