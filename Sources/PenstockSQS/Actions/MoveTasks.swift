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
        var startedAt: Timestamp
        /// Where its letters go back to. What is said of letters that stay may name these.
        var homes: [QueueName] = []
        /// How many messages waited when it began: those in the dead-letter queue, and the dead letters of its sources.
        var toMoveCount = 0
        var movedCount = 0
        /// Queues that had no room for all of their letters, which stay where they are.
        var fullQueues: Set<QueueName> = []
        /// Why other letters stay where they are.
        var reasons: [String] = []
        /// Why it has ended half-way.
        var failure: String?

        /// Why not all letters were moved; `nil` when all were.
        var whyNotAll: String? {
            if let failure { return failure }
            var sentences = reasons
            if !fullQueues.isEmpty {
                let names = fullQueues.map { "'\($0)'" }.sorted().joined(separator: ", ")
                sentences.insert("Letters stay here, as there is no room for them in \(names).", at: 0)
            }
            return sentences.isEmpty ? nil : sentences.joined(separator: " ")
        }
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
    /// How many messages are held at most that are no dead letters, while those behind them are looked at.
    static let othersMax = 1000
    /// What is said in place of why letters stay.
    private static let untold =
        "Letters stay; why is told to tokens that are for all queues which have dead letters here."

    /// Puts the dead letters back in line whose dead-letter queue this is. It has ended when it is answered.
    func startMessageMoveTask() async throws -> Response {
        let input = try input(MoveTaskInput.self)
        let queue = try queue(arn: input.SourceArn, for: .operate)
        if input.DestinationArn != nil {
            throw Refusal.unsupported("Dead letters go back to the queue that they are from; leave DestinationArn out.")
        }
        var task = MoveTasks.MoveTask(source: queue, startedAt: directory.time.now)
        let settings = try await directory.read(queue)
        let sources = try await directory.sources(of: queue, anew: true)
        guard !sources.isEmpty else {
            throw Refusal("ResourceNotFoundException", "The queue '\(queue)' is the dead-letter queue of no other.")
        }
        try requireMayOperate(sources)
        task.homes = sources.map(\.name)
        task.toMoveCount = sources.reduce(settings.depths.waiting) { $0.addingClamped($1.depths.dead) }
        // Of one that fails half-way it is told what it has moved.
        defer { moves.add(task) }
        do {
            try await moveBroughtLetters(from: settings, to: sources, of: &task)
            for source in task.homes {
                try context.requireStill(.operate, [queue, source])
                try await moveUnbroughtLetters(of: source, &task)
            }
        } catch {
            task.failure = (error as? PenstockError)?.message ?? "It was broken off."
            throw error
        }
        return .amazonJSON(.object(["TaskHandle": .string("ended-\(task.startedAt.microseconds)")]))
    }

    /// Throws unless the token may operate all of `sources`: their dead letters are moved, or discarded.
    func requireMayOperate(_ sources: [QueueSettings]) throws {
        guard sources.allSatisfy({ principal.may(.operate, $0.name) }) else {
            throw Refusal(
                "AccessDeniedException",
                "The token '\(principal.name)' may not operate every queue that has dead letters here.",
                status: .forbidden)
        }
    }

    /// Moves what was brought into the dead-letter queue back: each is done there and in line in its own queue, both or neither.
    ///
    /// A step moves some. What was sent to the dead-letter queue by itself is held meanwhile, so that the next step finds others;
    /// when there is much of that, what lies behind it stays.
    private func moveBroughtLetters(
        from queue: QueueSettings, to sources: [QueueSettings], of task: inout MoveTasks.MoveTask
    ) async throws {
        let sources = Dictionary(sources.map { ($0.name, $0) }) { $1 }
        let claim = RemoteClaim(
            queues: [queue.name], limit: Self.step, lease: Self.lease, worker: WorkerName(stored: "sqs move task"),
            wait: .zero)
        // What comes while it goes on is the next task's, so that each has an end.
        var left = queue.depths.waiting.addingClamped(queue.depths.leased)
        var (step, others): ([Lease], [Lease]) = ([], [])
        var untilExtended = Patience(Self.lease / 3, directory.time)
        do {
            while left > 0, others.count < Self.othersMax {
                // A token that was taken back meanwhile moves nothing more.
                try context.requireStill(.operate, [queue.name] + sources.keys)
                let messages = try await claim.run(queues, context, directory.time).map(\.message)
                if messages.isEmpty { break }
                left -= messages.count
                step = messages.map(\.lease)
                let claimed = MessageQuery(sequences: messages.map(\.lease.sequence), limit: messages.count)
                let homes = try await homes(of: store.messages(claimed).records, among: sources)
                var rooms = try await rooms(of: homes.values)
                var settlements: [Settlement] = []
                for message in messages {
                    guard let home = homes[message.lease.sequence] else {
                        others.append(message.lease)
                        continue
                    }
                    if let room = rooms[home.name] {
                        guard room > 0 else {
                            task.fullQueues.insert(home.name)
                            others.append(message.lease)
                            continue
                        }
                        rooms[home.name] = room - 1
                    }
                    let (headers, group) = Envelope.moved(
                        message.headers, group: message.group, hasGroups: home.policy.hasGroupKeys, from: nil)
                    let moved = NewMessage(
                        payload: message.payload, headers: headers, priority: message.priority, group: group,
                        expiry: home.expiry, origin: message.origin)
                    settlements.append(Settlement(message.lease, .done, drafts: [Draft(moved, to: home.name)]))
                }
                let refused = try await carryOut(settlements, of: &task)
                task.movedCount += settlements.count - refused.count
                others += refused
                step = []
                if untilExtended.left == nil {
                    _ = try await store.extend(others.map { LeaseExtension($0, by: Self.lease) })
                    untilExtended = Patience(Self.lease / 3, directory.time)
                }
            }
            if let why = try await whyLettersWait(after: task, of: sources, holding: others.count) {
                task.reasons.append(why)
            }
        } catch {
            try? await queues.giveBack(step + others)
            throw error
        }
        // Should it fail, the leases end by themselves.
        try? await queues.giveBack(others)
    }

    /// Moves what nobody has received from the dead-letter queue: it is still where it died, and goes back in line as far as there is room.
    /// Nothing else looks for room there, and a queue that drops would drop one for each that comes next.
    private func moveUnbroughtLetters(of source: QueueName, _ task: inout MoveTasks.MoveTask) async throws {
        guard let home = try await directory.find(source) else { return }
        let room = min(home.roomLeft, home.depths.dead)
        if room < home.depths.dead { task.fullQueues.insert(source) }
        if room > 0 {
            let moved = try await store.apply(.redrive, to: .queue(source, states: [.dead], limit: room))
            task.movedCount += moved
            // Letters whose keys others hold are passed over; what is gone as well was brought over, or discarded, by somebody else. What
            // has died since then is the next task's.
            if moved < room, try await directory.find(source) != nil {
                let held = try await store.deadWithoutKeyCount(of: source, group: nil)
                let left = min(room - moved, held)
                if left > 0 {
                    let letters = left == 1 ? "1 letter stays" : "\(left) letters stay"
                    task.reasons.append(
                        "\(letters) in '\(source)', as other messages there hold the unique key; wait until these have ended."
                    )
                }
            }
        }
        directory.forget(source)
    }

    /// How many messages find room in those of the queues that would drop one for each that they have no room for: the letter itself,
    /// or what waits there. Other queues say so themselves.
    private func rooms(of homes: some Collection<QueueSettings>) async throws -> [QueueName: Int] {
        var rooms: [QueueName: Int] = [:]
        for home in homes where rooms[home.name] == nil && home.dropsWhenFull {
            // Of one that is gone the store says so.
            rooms[home.name] = try await directory.find(home.name)?.roomLeft
        }
        return rooms
    }

    /// The queues whose dead letters the messages were, by message. Those of no queue among `sources` are left out.
    ///
    /// A producer can write any queue into a message's header, and name any message as the one of which it is a copy. So only what has the
    /// key of a copy is one. Whose it is the letter says of which it is the copy, and the header only where the log has forgotten that.
    func homes(
        of messages: [MessageRecord], among sources: [QueueName: QueueSettings]
    ) async throws -> [SequenceNumber: QueueSettings] {
        let copies = messages.filter { DeadLetters.isCopy(withKey: $0.uniqueKey) }
        let origins = Array(Set(copies.compactMap(\.origin)))
        if origins.isEmpty { return [:] }
        var queues: [SequenceNumber: QueueName] = [:]
        for record in try await store.messages(MessageQuery(sequences: origins, limit: origins.count)).records {
            queues[record.sequence] = record.queue
        }
        var homes: [SequenceNumber: QueueSettings] = [:]
        for message in copies {
            guard let origin = message.origin else { continue }
            let home = queues[origin] ?? Envelope(message.headers).source.flatMap { try? QueueName($0) }
            if let home { homes[message.sequence] = sources[home] }
        }
        return homes
    }

    /// Moves messages, and returns those that were not moved, as their queue refuses them. They stop no other.
    private func carryOut(_ settlements: [Settlement], of task: inout MoveTasks.MoveTask) async throws -> [Lease] {
        var full: Set<QueueName> = []
        var reason: String?
        func settle(_ settlements: [Settlement]) async throws -> [Lease]? {
            do {
                let results = try await store.settle(settlements)
                return zip(settlements, results).filter { $1 == .leaseLost }.map(\.0.lease)
            } catch let error as PenstockError where error.code == .queueFull {
                if settlements.count == 1 { full.formUnion(settlements[0].drafts.map(\.queue)) }
                return nil
            } catch let error as PenstockError
                where [.invalidInput, .unknownQueue, .queueDeleting].contains(error.code)
            {
                if settlements.count == 1 { reason = "A letter stays here that its queue refuses: \(error.message)" }
                return nil
            }
        }
        if settlements.isEmpty { return [] }
        if let refused = try await settle(settlements) { return refused }
        var refused: [Lease] = []
        for settlement in settlements {
            // Where one has found no room, the next ones are not tried.
            let isForFull = settlement.drafts.contains { full.contains($0.queue) }
            refused += isForFull ? [settlement.lease] : try await settle([settlement]) ?? [settlement.lease]
        }
        task.fullQueues.formUnion(full)
        if let reason, !task.reasons.contains(reason) { task.reasons.append(reason) }
        return refused
    }

    func listMessageMoveTasks() async throws -> Response {
        let input = try input(MoveTaskInput.self)
        let queue = try queue(arn: input.SourceArn, for: .read)
        let limit = input.MaxResults ?? 1
        try Refusal.require("MaxResults", limit, in: 1...10)
        let results = moves.of(queue, limit: limit).map { task in
            let toMove = max(task.toMoveCount, task.movedCount)
            var members: [JSONValue.Member] = [
                .init(key: "Status", value: .string(task.whyNotAll == nil ? "COMPLETED" : "FAILED")),
                .init(key: "SourceArn", value: .string(arn(queue))),
                .init(key: "ApproximateNumberOfMessagesMoved", value: .integer(task.movedCount)),
                .init(key: "ApproximateNumberOfMessagesToMove", value: .integer(toMove)),
                .init(key: "StartedTimestamp", value: .integer(task.startedAt.microseconds / 1000)),
            ]
            if let why = task.whyNotAll {
                let isTold = task.homes.allSatisfy(mayAnything)
                members.append(.init(key: "FailureReason", value: .string(isTold ? why : Self.untold)))
            }
            return JSONValue.object(members)
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
