import Penstock
import PenstockFormats

/// What becomes of what a command gives for its message.
enum OutputUse: Sendable {
    /// It goes to the worker's own standard output.
    case passed
    /// It is kept as what the message gave.
    case result
    /// It goes in line as a message of that queue, or each of its lines does.
    case into(Queue<[UInt8]>, splitsLines: Bool)

    /// How many bytes there may be of what is kept.
    var bytesMax: Int? {
        switch self {
        case .passed: nil
        case .result: Limits.resultBytesMax
        case .into: Limits.payloadBytesMax
        }
    }

    /// Says that the message of a command that has done its work is done, and what that gave. A store that stalls for a moment, or
    /// a queue that is full, must not have the command run again: this waits while the lease is held.
    ///
    /// - Parameter stop: ends the wait. The message is given back then.
    /// - Throws: ``AttemptFailed`` when it can never be kept; ``Failure`` when no other message would fare better.
    func finish(_ delivery: Delivery<[UInt8]>, _ output: [UInt8], until stop: StopRequest) async throws {
        switch self {
        case .passed: return
        case .result: try await delivery.doneWhileHeld(result: output)
        case .into(let queue, let splitsLines):
            let payloads = splitsLines ? Self.lines(of: output) : output.isEmpty ? [] : [output]
            guard payloads.count <= Limits.batchCountMax else {
                throw AttemptFailed(
                    description:
                        "The command wrote \(payloads.count) lines, and one message is followed by at most "
                        + "\(Limits.batchCountMax) (batchCountMax); have it write fewer.")
            }
            // What was urgent stays so, and what traces a message goes on with it. What follows is something else than the message; its
            // codecs are left out by the queue.
            let headers = delivery.headers.filter { $0.key != KindName.header }
            let options = EnqueueOptions(headers: headers, priority: delivery.priority)
            let drafts = try queue.drafts(contentsOf: payloads) { _ in options }
            do {
                try await handOn(drafts, after: delivery, until: stop)
            } catch let error as PenstockError {
                throw explained(error)
            }
        }
    }

    private func handOn(_ drafts: [Draft], after delivery: Delivery<[UInt8]>, until stop: StopRequest) async throws {
        if drafts.isEmpty { return try await delivery.doneWhileHeld() }
        // What a command finished after the worker's grace is handed on as well, and waits for room no longer than a moment.
        let isLate = stop.cause != nil
        let isDone = try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await delivery.doneWhileHeld(then: drafts)
                return true
            }
            tasks.addTask {
                _ = await stop.wait()
                if isLate { try await SystemTime().sleep(for: .seconds(1)) }
                return false
            }
            if try await tasks.next() == true {
                tasks.cancelAll()
                return true
            }
            tasks.cancelAll()
            do {
                return try await tasks.next() ?? false
            } catch is CancellationError {
                return false
            }
        }
        if isDone { return }
        // The worker ends, and the message that waited for room has nothing behind it.
        try Task.checkCancellation()
        try await delivery.release()
    }

    private func explained(_ error: PenstockError) -> any Error {
        switch error.code {
        case .queueFull, .invalidInput: AttemptFailed(description: error.message)
        case .unknownQueue, .queueDeleting: Failure(known: error) ?? error
        default: error
        }
    }

    /// What a command gets that gives more than is kept.
    var tooLong: AttemptFailed {
        switch self {
        case .passed, .result:
            AttemptFailed(
                description:
                    "The command wrote more than \(Limits.resultBytesMax) bytes (resultBytesMax) to its standard output, "
                    + "which --result keeps; have it write to a file, and print its name.")
        case .into(let queue, _):
            AttemptFailed(
                description:
                    "The command wrote more than \(Limits.payloadBytesMax) bytes (payloadBytesMax) to its standard output, "
                    + "which --into puts in line in '\(queue.name)'; have it write to a file, and print its name.")
        }
    }

    /// The lines of `output`, as ``LineReader`` takes them: what follows the last line end is one too, unless it is empty.
    static func lines(of output: [UInt8]) -> [[UInt8]] {
        var lines = output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map(Array.init)
    }
}
