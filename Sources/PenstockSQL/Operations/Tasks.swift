import PenstockCore

/// Writing tasks: the messages, what each waits for, and those that wait for none into the line.
struct Tasks {
    let tasks: [NewTask]
    let durability: Durability
    let transaction: Transaction
    /// Whether one of the tasks was dropped as it came, or another message for it.
    private(set) var hasDropped = false

    /// Finds the queues, and writes nothing but the ends of messages that have expired in those without room.
    ///
    /// - Throws: `unknownQueue`, `queueDeleting`; `queueFull` when the tasks that depend on none do not fit.
    init(_ tasks: [NewTask], durability: Durability, in transaction: Transaction) throws {
        self.tasks = tasks
        self.durability = durability
        self.transaction = transaction
        var rootCounts: [QueueName: Int] = [:]
        for task in tasks {
            let account = try transaction.account(of: task.queue)
            try account.refuseDeleting(in: transaction)
            try GroupKey.refuse([task.message], task.queue, account.policy)
            if task.dependencies.isEmpty { rootCounts[task.queue, default: 0] += 1 }
        }
        // In all queues first: what has waited for such a message may come into another one.
        let roots = rootCounts.sorted { $0.key < $1.key }
        for (queue, count) in roots {
            try Expiring.makeRoom(for: count, transaction.account(of: queue), in: transaction)
        }
        for (queue, count) in roots {
            let account = try transaction.account(of: queue)
            guard let capacity = account.policy.capacity, capacity.whenFull == .fail || capacity.whenFull == .wait
            else { continue }
            if try !account.hasRoom(for: count, transaction.connection) {
                let advice =
                    count > capacity.count
                    ? "raise it, or have some tasks wait for others" : "try again when some messages are worked"
                throw PenstockError(
                    .queueFull,
                    "The queue '\(queue)' has no room for \(count == 1 ? "a task" : "\(count) tasks"): its capacity is "
                        + "\(capacity.count); \(advice). Nothing was enqueued.")
            }
        }
    }

    /// Writes the messages into the log, in the order of the tasks. Neighbours of one queue go together.
    ///
    /// - Returns: their sequence numbers.
    func writeLog() throws -> [Int64] {
        var sequences: [Int64] = []
        var rest = tasks[...]
        while let queue = rest.first?.queue {
            let account = try transaction.account(of: queue)
            let run = rest.prefix { $0.queue == queue }.map(\.message)
            let turns = try Turns.provisional(for: run, account, transaction.connection)
            sequences += try LogRows.write(run, account, turns: turns, in: transaction)
            account.change.enqueuedTotal += Int64(run.count)
            // Readers of the log are told also of what only waits, and workers of when it expires.
            account.ring(messages: run.contains { $0.expiry != nil } ? 1 : 0)
            rest = rest.dropFirst(run.count)
        }
        return sequences
    }

    /// Makes the messages tasks of the workflow, and puts each where it begins.
    mutating func place(_ sequences: [Int64], workflowID: Int64) throws -> [Receipt] {
        try TaskRows.insert(tasks, sequences, workflowID: workflowID, transaction.connection)
        try writeDependencies(sequences)
        // Those that wait are in their place before any other one can end: what follows from that must find them.
        try placeWaiting(sequences)
        try ExpiryRows.insert(
            zip(tasks, sequences).filter { $0.0.message.expiry != nil }.map(\.1), transaction.connection)
        var receipts: [Receipt] = []
        receipts.reserveCapacity(tasks.count)
        for (task, sequence) in zip(tasks, sequences) {
            receipts.append(Receipt(sequence: SequenceNumber(sequence), state: .pending, durability: durability))
            if !task.dependencies.isEmpty { try transaction.account(of: task.queue).change.count(.pending, 1) }
        }
        for (index, task) in tasks.enumerated() where task.dependencies.isEmpty {
            try accept(task.message, entry(task, sequences[index]), &receipts[index])
        }
        return receipts
    }

    /// Puts those in their place that wait for others.
    private func placeWaiting(_ sequences: [Int64]) throws {
        let waiting = zip(tasks, sequences).filter { !$0.0.dependencies.isEmpty }.map(\.1)
        if waiting.isEmpty { return }
        do {
            try transaction.connection.attempt {
                try transaction.connection.run(Self.insertPending, .sequences(waiting))
            }
        } catch  where error.isContradiction {
            // A row of one of them is there already. Each by itself finds out which.
            for (task, sequence) in zip(tasks, sequences) where !task.dependencies.isEmpty {
                let place = Lifecycle.Outcome(state: .pending, attempt: 0, forgiven: 0)
                try Line.insert(entry(task, sequence), place, in: transaction)
            }
        }
    }

    private func entry(_ task: NewTask, _ sequence: Int64) throws -> LineEntry {
        LineEntry(
            sequence: sequence, account: try transaction.account(of: task.queue), state: .pending,
            priority: Int64(task.message.priority), attempt: 0, forgiven: 0,
            marks: Marks(of: task.message).union(.task))
    }

    /// Puts a task that waits for none in line, as a message that is enqueued.
    private mutating func accept(_ message: NewMessage, _ entry: LineEntry, _ receipt: inout Receipt) throws {
        let account = entry.account
        var place = Lifecycle.Outcome(state: .ready, attempt: 0, forgiven: 0)
        if let due = message.dueTime(acceptedAt: transaction.now) { (place.state, place.due) = (.scheduled, due) }
        if try !account.hasRoom(for: 1, transaction.connection) {
            switch account.policy.capacity?.whenFull {
            case .dropNewest:
                place = Lifecycle.Outcome(state: .dropped, reason: .dropNewest, attempt: 0, forgiven: 0)
            case .dropOldest:
                _ = try Overflow.displaceOldest(account, in: transaction)
                hasDropped = true
            case .fail, .wait, nil:
                // There was room for all of them.
                break
            }
        }
        if let key = message.group, place.state == .ready,
            try Groups.admit(entry.sequence, to: Group(account: account, key: key), in: transaction) != .admitted
        {
            place.state = .blocked
        }
        try Line.insert(entry, place, isNew: true, in: transaction)
        account.change.count(place.state, 1)
        if place.state == .dropped {
            hasDropped = true
            if entry.marks.contains(.expiry) { try ExpiryRows.end(entry.sequence, transaction.connection) }
            account.change.countEnd(.dropped)
            transaction.cascade.note(entry.sequence)
        } else {
            account.ring(messages: place.state == .blocked ? 0 : 1)
        }
        receipt.state = place.state
    }

    private func writeDependencies(_ sequences: [Int64]) throws {
        let named = Dictionary(uniqueKeysWithValues: zip(tasks.map(\.name), sequences))
        var rows: [DependencyRows.New] = []
        for (task, sequence) in zip(tasks, sequences) {
            for dependency in task.dependencies {
                guard let parent = named[dependency.task] else { continue }
                rows.append(DependencyRows.New(parent: parent, child: sequence, need: dependency.need))
            }
        }
        try DependencyRows.insert(rows, transaction.connection)
    }

    private static let insertPending = Query(
        """
        INSERT INTO penstock_pending (queue_id, sequence, priority, attempt, forgiven, marks)
        SELECT queue_id, sequence, priority, 0, 0, \(Marks.task.rawValue) + \(Marks.acceptedSQL) FROM penstock_log
        WHERE sequence IN (SELECT value FROM json_each(?1))
        """)
}
