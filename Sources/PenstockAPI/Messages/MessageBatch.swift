import HTTPTypes
import Hummingbird
import NIOCore
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// Messages that are the lines of a body, each a JSON object.
///
/// They go in by batches as they come, so that no more than one batch is in memory, and in their order: after one that found no room
/// no other goes in. What became of each line is told when the body is read: a client that reads nothing before it has sent all,
/// as most do, would otherwise wait for the server while that waits for the client.
struct MessageBatch {
    let offer: Offer
    let idempotencyKey: IdempotencyKey?

    /// Enqueues the lines of a body.
    ///
    /// - Returns: 201 when all lines are in line, or 207; with a JSON object on each line, in their order.
    func enqueue(_ request: Request) async throws -> Response {
        var results = LineResults()
        var lines = Lines(lineBytesMax: Bounds.batchLineBytesMax, countMax: Bounds.batchLineCountMax)
        var waiting = Waiting()
        do {
            reading: for try await part in request.body {
                let (taken, problem) = lines.take(part.readableBytesView)
                for line in taken {
                    try await add(line, to: &waiting, &results)
                    if results.isOver { break reading }
                }
                if let problem { throw problem }
                // Parts that are there already would keep the thread from all other clients.
                await Task.yield()
            }
            if !results.isOver, let line = lines.last() { try await add(line, to: &waiting, &results) }
        } catch let problem as Problem {
            // What was read well goes in before what was not is told of.
            results.refuse(lines.count + 1, problem)
        } catch {
            guard let broken = BrokenBody(error) else { throw error }
            // An answer that knows of no lines would say that nothing was done.
            if broken.isCutShort { results.end(waiting.numbers[...], Self.broken) }
            results.refuse(lines.count + 1, Self.broken)
        }
        if !results.isOver { try await enqueueIfHeard(&waiting, &results) }
        return results.response
    }

    /// Lines that were read, and are not in line.
    private struct Waiting {
        var numbers: [Int] = []
        var messages: [NewMessage] = []
        var bytes = 0

        var isFull: Bool { numbers.count >= Bounds.batchCountMax || bytes >= Bounds.batchBytesMax }
    }

    private func add(
        _ line: Lines.Line, to waiting: inout Waiting, _ results: inout LineResults
    ) async throws {
        if line.bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
        let message: NewMessage
        do {
            message = try self.message(line)
        } catch let error as PenstockError {
            return results.refuse(line.number, Problem(error))
        } catch let problem as Problem {
            return results.refuse(line.number, problem)
        }
        waiting.numbers.append(line.number)
        waiting.messages.append(message)
        waiting.bytes += message.payload.count
        if waiting.isFull { try await enqueueIfHeard(&waiting, &results) }
    }

    /// Enqueues what waits, unless the connection is over by now, as when the server is told to stop: its client could not be told of these.
    /// A body comes for minutes, and a token that was taken back meanwhile puts nothing more in line.
    private func enqueueIfHeard(_ waiting: inout Waiting, _ results: inout LineResults) async throws {
        guard offer.context.isConnected else { throw CancellationError() }
        do {
            try offer.context.requireStill(.produce, [offer.queue])
        } catch {
            return results.end(waiting.numbers[...], error)
        }
        await enqueue(&waiting, &results)
    }

    private func message(_ line: Lines.Line) throws -> NewMessage {
        var entry = try JSONInput.decode(LineEntry.self, from: line.bytes, as: "The message").entry
        try entry.takePayload(of: line.bytes)
        var message = entry.message
        if let idempotencyKey {
            guard message.uniqueKey == nil else { throw IdempotencyKey.besideKey }
            message.uniqueKey = idempotencyKey.line(line.number).uniqueKey
        }
        try message.validate(now: offer.patience.time.now)
        return message
    }

    private func enqueue(_ waiting: inout Waiting, _ results: inout LineResults) async {
        let (numbers, messages) = (waiting.numbers, waiting.messages)
        waiting = Waiting()
        if messages.isEmpty { return }
        do {
            let (receipts, failure) = try await offer.enqueue(messages)
            let reused = isKeyed ? try await IdempotencyKey.reused(messages, as: receipts, in: offer.store) : []
            for (place, (number, receipt)) in zip(numbers, receipts).enumerated() {
                if reused.contains(place) {
                    results.refuse(number, IdempotencyKey.reused)
                } else {
                    results.accept(number, receipt, offer.queue, isKeyed)
                }
            }
            if receipts.count < messages.count {
                let problem = failure.map { Problem(known: $0) ?? .unexpected }
                results.end(numbers.dropFirst(receipts.count), problem ?? .queueFull(offer.queue))
            }
        } catch let error as PenstockError where messages.count > 1 && error.mayBeOfOneMessage {
            // Nothing of the batch is in line, and it is not known which message was at fault: each goes by itself.
            for (index, number) in numbers.enumerated() {
                if results.isOver {
                    results.end(numbers[index...], Problem(error))
                    return
                }
                var one = Waiting()
                (one.numbers, one.messages) = ([number], [messages[index]])
                await enqueue(&one, &results)
            }
        } catch let error as PenstockError where error.code == .invalidInput {
            results.refuse(numbers[0], Problem(error))
        } catch {
            results.end(numbers[...], Problem(known: error) ?? .unexpected)
        }
    }

    private var isKeyed: Bool { idempotencyKey != nil }

    private static let broken = Problem.invalid(
        "The body ends here, and not as RFC 9112 has it; send this line and those behind it once more.")
}

/// A line as a message.
private struct LineEntry: Decodable {
    private static let members = MessageEntry.members.union(MessageEntry.keyMembers)

    var entry: MessageEntry

    init(from decoder: any Decoder) throws {
        entry = try MessageEntry(try Members(decoder, Self.members, of: "A message"), now: SystemTime().now)
        try ReservedKeys.refuse(entry.message.uniqueKey)
    }
}
