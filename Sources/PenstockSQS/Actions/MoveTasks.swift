import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP
import Synchronization

/// The move tasks that this process has carried out, for those that ask how they went.
final class MoveTasks: Sendable {
    private static let keptMax = 100

    struct MoveTask: Sendable {
        var source: QueueName
        var movedCount: Int
        var startedAt: Timestamp
    }

    private let tasks = Mutex<[MoveTask]>([])

    func add(_ task: MoveTask) {
        tasks.withLock { tasks in
            tasks.insert(task, at: 0)
            if tasks.count > Self.keptMax { tasks.removeLast() }
        }
    }

    /// The last ones of a dead-letter queue, newest first.
    func of(_ source: QueueName, limit: Int) -> [MoveTask] {
        tasks.withLock { Array($0.filter { $0.source == source }.prefix(limit)) }
    }
}

/// Moving dead letters back to where they came from.
extension Call {
    private static let step = 100
    private static let lease = Duration.seconds(60)

    /// Puts the dead letters back in line whose dead-letter queue this is. It has ended when it is answered.
    func startMessageMoveTask() async throws -> Response {
        let input = try input(MoveTaskInput.self)
        let queue = try queue(arn: input.SourceArn, "SourceArn")
        try requireMay(.operate, queue)
        if input.DestinationArn != nil {
            throw Refusal.unsupported("Dead letters go back to the queue that they are from; leave DestinationArn out.")
        }
        let startedAt = directory.time.now
        _ = try await directory.read(queue)
        let sources = try await directory.sources(of: queue, anew: true)
        guard !sources.isEmpty else {
            throw Refusal("ResourceNotFoundException", "The queue '\(queue)' is the dead-letter queue of no other.")
        }
        for source in sources { try requireMay(.operate, source.name) }
        var movedCount = try await moveBroughtLetters(from: queue)
        for source in sources {
            movedCount += try await store.apply(.redrive, to: .queue(source.name, states: [.dead]))
            directory.forget(source.name)
        }
        moves.add(MoveTasks.MoveTask(source: queue, movedCount: movedCount, startedAt: startedAt))
        return .amazonJSON(.object(["TaskHandle": .string("ended-\(startedAt.microseconds)")]))
    }

    /// Moves what was brought into the dead-letter queue back: each is done there and in line in its own queue, both or neither.
    private func moveBroughtLetters(from queue: QueueName) async throws -> Int {
        let claim = RemoteClaim(
            queues: [queue], limit: Self.step, lease: Self.lease, worker: WorkerName(stored: "sqs move task"),
            wait: .zero)
        var (movedCount, others): (Int, [Lease]) = (0, [])
        do {
            while true {
                let messages = try await claim.run(queues, context, directory.time).map(\.message)
                if messages.isEmpty { break }
                var settlements: [Settlement] = []
                for message in messages {
                    var envelope = Envelope(message.headers)
                    guard let source = try envelope.source.map({ try QueueName($0) }),
                        try await directory.find(source) != nil
                    else {
                        // It was sent here, or its queue is gone.
                        others.append(message.lease)
                        continue
                    }
                    envelope.source = nil
                    let moved = NewMessage(
                        payload: message.payload, headers: try envelope.headers(), priority: message.priority,
                        group: message.group, origin: message.origin)
                    settlements.append(Settlement(message.lease, .done, drafts: [Draft(moved, to: source)]))
                }
                if settlements.isEmpty { continue }
                movedCount += try await store.settle(settlements).count { $0 != .leaseLost }
            }
        } catch {
            try? await queues.giveBack(others)
            throw error
        }
        // Should it fail, the leases end by themselves.
        try? await queues.giveBack(others)
        return movedCount
    }

    func listMessageMoveTasks() async throws -> Response {
        let input = try input(MoveTaskInput.self)
        let queue = try queue(arn: input.SourceArn, "SourceArn")
        try requireMay(.read, queue)
        let limit = input.MaxResults ?? 1
        guard (1...10).contains(limit) else { throw Refusal.outOfRange("MaxResults", limit, 1...10) }
        let results = moves.of(queue, limit: limit).map { task in
            JSONValue.object([
                "Status": .string("COMPLETED"), "SourceArn": .string(arn(queue)),
                "ApproximateNumberOfMessagesMoved": .integer(task.movedCount),
                "ApproximateNumberOfMessagesToMove": .integer(task.movedCount),
                "StartedTimestamp": .integer(task.startedAt.microseconds / 1000),
            ])
        }
        return .amazonJSON(.object(["Results": .array(results)]))
    }

    func cancelMessageMoveTask() async throws -> Response {
        guard let handle = try input(MoveTaskInput.self).TaskHandle, !handle.isEmpty else {
            throw Refusal.missing("TaskHandle")
        }
        throw Refusal("ResourceNotFoundException", "A move task has ended when it is answered; none can be cancelled.")
    }
}
