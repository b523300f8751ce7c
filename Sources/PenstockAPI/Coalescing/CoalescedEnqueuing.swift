import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/queues/{queue}/messages` with one message that does not wait for room: those that come at the same time are one enqueue a queue.
///
/// It answers as ``Enqueuing`` does. Bodies of lines, an `Idempotency-Key`, a `wait` and all that is refused are left to that.
struct CoalescedEnqueuing: Sendable {
    /// What a request asks for, but for the payload, which is its body.
    struct Call: Sendable {
        var queue: QueueName
        var message: NewMessage
    }

    /// The path with the names of its parameters, for metrics.
    static let path = "/v1/queues/{queue}/messages"
    /// Bytes of a body; a longer one goes the way of all requests.
    static let bodyBytesMax = 64 * 1024
    let store: PenstockStore
    let time: any TimeSource

    /// What the request with this head asks for, when its client may ask for it; `nil`: it goes the way of all requests, where
    /// it is told what is wrong with it. It runs on the event loop, and must not wait.
    func call(_ request: Request, _ context: ServerContext) -> Call? {
        guard let queue = Self.queue(request.head.path ?? ""), context.principal.may(.produce, queue),
            !Enqueuing.isBatch(request),
            let head = try? MessageHead(request.headers, context.principal, now: time.now),
            head.idempotencyKey == nil, head.durability == .powerLoss
        else { return nil }
        return Call(queue: queue, message: head.message)
    }

    /// The queue of a path with no parameters and no escapes.
    private static func queue(_ path: String) -> QueueName? {
        let prefix = "/v1/queues/"
        let suffix = "/messages"
        guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count,
            !path.hasReplacements
        else { return nil }
        let name = path.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        guard !name.contains(where: { "/?%#".utf8.contains($0) }) else { return nil }
        return try? QueueName(String(Substring(name)))
    }

    /// Carries out calls, each with its body.
    ///
    /// - Returns: an answer to each, in their order.
    func answers(to calls: [(call: Call, body: ByteBuffer)]) async -> [CoalescedAnswer] {
        var places: [QueueName: [Int]] = [:]
        for (place, call) in calls.enumerated() { places[call.call.queue, default: []].append(place) }
        if let (queue, places) = places.first, places.count == calls.count {
            return await enqueue(calls.map(Self.message), to: queue)
        }
        return await withTaskGroup(of: (places: [Int], answers: [CoalescedAnswer]).self) { group in
            for (queue, places) in places {
                group.addTask { (places, await enqueue(places.map { Self.message(calls[$0]) }, to: queue)) }
            }
            var answers = [CoalescedAnswer](repeating: .failure(CancellationError()), count: calls.count)
            for await (places, some) in group {
                for (place, answer) in zip(places, some) { answers[place] = answer }
            }
            return answers
        }
    }

    private static func message(_ call: (call: Call, body: ByteBuffer)) -> NewMessage {
        var message = call.call.message
        message.payload = Array(call.body.readableBytesView)
        return message
    }

    /// Enqueues messages of as many clients, and says to each what became of its own.
    private func enqueue(_ messages: [NewMessage], to queue: QueueName) async -> [CoalescedAnswer] {
        do {
            let receipts = try await store.storage.enqueue(messages, to: queue, durability: .powerLoss)
            return messages.indices.map { index in
                index < receipts.count ? .receipt(receipts[index], queue) : .failure(Problem.queueFull(queue))
            }
        } catch let error as PenstockError where messages.count > 1 && error.mayBeOfOneMessage {
            return await enqueueEachAlone(messages, to: queue)
        } catch {
            return messages.map { _ in .failure(error) }
        }
    }

    /// One client's message is not to be refused because of another's.
    private func enqueueEachAlone(_ messages: [NewMessage], to queue: QueueName) async -> [CoalescedAnswer] {
        await withTaskGroup(of: (Int, CoalescedAnswer).self) { group in
            for (index, message) in messages.enumerated() {
                group.addTask { (index, await enqueue([message], to: queue)[0]) }
            }
            var answers = [CoalescedAnswer](repeating: .failure(CancellationError()), count: messages.count)
            for await (index, answer) in group { answers[index] = answer }
            return answers
        }
    }
}

/// What a request gets that was carried out with others.
enum CoalescedAnswer: Sendable {
    case receipt(Receipt, QueueName)
    /// What kept it from being done.
    case failure(any Error)
}
