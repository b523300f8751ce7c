import Penstock
import PenstockFormats

/// Makes a message of every line of the input.
///
/// While one batch is written the next one is read, and no more than these two are in memory, however long the input
/// is. Batches go in one after the other, so the lines keep their order.
@MainActor
struct EnqueueLines {
    /// Each batch is flushed to the disk by itself, and the next one waits for it. To write so many into a file keeps the writer lock for
    /// some tens of milliseconds, which other processes hardly notice. A database may be asked several times for each, as where a full queue
    /// drops its oldest messages.
    private var batchCountMax: Int { place == .file ? 4000 : 1000 }
    private static let batchBytesMax = 1024 * 1024

    let input: InputFile
    let skipsEmpty: Bool
    let place: StoreAddress.Kind
    let batches: LineBatches

    /// Enqueues all lines.
    ///
    /// - Throws: ``Failure`` that names the line at which it ended, and says what is in line.
    func run() async throws -> EnqueueTally {
        var reader = LineReader(input.descriptor, lineBytesMax: Limits.payloadBytesMax, skipsEmpty: skipsEmpty)
        let progress = Progress(
            bytesTotal: input.descriptor.bytesAhead, isShown: ErrorOutput.isTerminal, time: SystemTime())
        defer { progress.clear() }
        var tally = EnqueueTally()
        do {
            return try await withThrowingTaskGroup(of: EnqueueTally.self) { writing in
                var readingError: (any Error)?
                while readingError == nil {
                    do {
                        let next = try reader.next(countMax: batchCountMax, bytesMax: Self.batchBytesMax)
                        guard let lines = next else { break }
                        if let written = try await writing.next() { tally = written }
                        progress.update(lines: tally.lines, bytes: reader.bytesRead)
                        writing.addTask { [batches, tally] in try await batches.enqueue(lines, after: tally) }
                    } catch let stopped as LineBatches.Stopped {
                        throw stopped
                    } catch {
                        readingError = error
                    }
                }
                // What was read well is in line before what was not is told of.
                if let written = try await writing.next() { tally = written }
                if let readingError { throw readingError }
                return tally
            }
        } catch {
            throw explained(error, tally)
        }
    }

    private func explained(_ error: any Error, _ tally: EnqueueTally) -> any Error {
        switch error {
        case let tooLong as LineReader<Descriptor>.TooLong:
            return Failure(
                .usage,
                "Line \(tooLong.number) has more than \(Limits.payloadBytesMax) bytes (payloadBytesMax), so it and "
                    + "what follows were not enqueued. \(Self.said(of: tally))")
        case let failure as SystemFailure:
            return Failure(.inputOutput, "\(input.name) cannot be read: \(failure). \(Self.said(of: tally))")
        case let stopped as LineBatches.Stopped:
            guard let cause = Failure(known: stopped.cause) else { return stopped.cause }
            let (first, last) = (stopped.lines.lowerBound, stopped.lines.upperBound)
            let lines = first == last ? "line \(first)" : "lines \(first) to \(last)"
            let rest =
                cause.status == .outcomeUnknown
                ? "Nobody knows whether \(lines) \(first == last ? "is" : "are") enqueued; no later line is."
                : "Neither it nor a later line is enqueued."
            return Failure(
                cause.status, "At line \(first): \(cause.message) \(rest) \(Self.said(of: stopped.tally))")
        default:
            return error
        }
    }

    private static func said(of tally: EnqueueTally) -> String {
        switch tally.lines {
        case 0: "No line before it was enqueued."
        case 1: "The 1 line before it is enqueued and stays."
        default: "The \(tally.lines) lines before it are enqueued and stay."
        }
    }
}
