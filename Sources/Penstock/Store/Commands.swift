public import PenstockCore

/// What people do to messages, one by one or many at once.
extension PenstockStore {
    /// One message, with its payload and its failed attempts.
    ///
    /// - Throws: `PenstockError` with code `unknownMessage` when there is none with that number, or retention has let
    ///   it go.
    public func message(_ sequence: SequenceNumber) async throws -> MessageRecord {
        let query = MessageQuery(sequences: [sequence], limit: 1, withPayload: true, withAttempts: true)
        guard let record = try await storage.messages(query).first else {
            throw PenstockError.unknown(sequence)
        }
        return record
    }

    /// Why a message is where it is, and what it waits for: the tasks, the permit, the limit, the time.
    ///
    /// - Throws: `PenstockError` with code `unknownMessage` when there is none with that number, or retention has let it go.
    public func waitReason(of sequence: SequenceNumber) async throws -> WaitReason {
        try await storage.waitReason(of: sequence)
    }

    /// Reads a page of messages, in the order of sequence.
    ///
    /// - Returns: fewer than the query's limit also when they carry more than `Limits.logPageBytesMax` bytes, but at least
    ///   one if there is one, and when as many messages were looked at as the query says: ``/PenstockCore/MessagePage/next`` says
    ///   where to go on.
    /// - Throws: `PenstockError` with code `unknownQueue` or `invalidInput`, and what the store throws.
    public func list(_ query: MessageQuery) async throws -> MessagePage {
        try await storage.messages(query)
    }

    /// Puts the newest dead letters into groups: those of a queue that are dead for the same reason, with errors whose first
    /// lines are the same but for their numbers. ``/PenstockCore/MessageFilter/signature`` chooses the messages of a group.
    ///
    /// - Returns: the groups, the largest first, and how many dead letters were looked at.
    /// - Throws: `PenstockError` with code `unknownQueue` or `invalidInput`, and what the store throws.
    public func deadGroups(_ query: DeadGroupQuery = DeadGroupQuery()) async throws -> DeadGroupPage {
        try await storage.deadGroups(query)
    }

    /// Counts the messages that match a selection and are in a state that knows the command. Changes nothing.
    ///
    /// A selection that then says how many are `expected` moves none when more match meanwhile, and never more than these.
    ///
    /// - Returns: how many, up to the selection's limit. To carry out the command may pass over some: a dead letter stays one while
    ///   another message has its unique key.
    /// - Throws: `PenstockError` with code `unknownQueue` or `invalidInput`, and what the store throws.
    public func count(_ selection: Selection, for command: LineCommand) async throws -> Int {
        try await storage.count(selection, for: command)
    }

    /// Takes messages that wait out of the line at once, and asks the workers that have the others to end.
    ///
    /// The task of a handler that is asked is cancelled, in whichever process. When it says that its message is done, the
    /// message is done; when it ends in any other way, dies or takes longer than `time`, the message is cancelled. It
    /// does not come back in any case, and until then it is leased.
    ///
    /// Messages of a queue are moved in steps, as by the other commands. Once one has moved, the call goes on to its end though its
    /// task is cancelled.
    ///
    /// - Parameters:
    ///   - selection: which messages.
    ///   - time: how long workers have to end, from 100 milliseconds to 7 days. To ask again can only make it shorter.
    /// - Returns: how many, without those whose workers had been asked before.
    /// - Throws: of messages that are selected by number, `PenstockError` with code `unknownMessage` or `illegalTransition`;
    ///   then none was moved. Messages of a queue that are in another state are passed over. `selectionChanged` when more messages
    ///   of a queue match than were expected; `invalidInput` for a time out of range. What the store throws between two steps says
    ///   how many messages were moved before. `CancellationError` when the task is cancelled before one was.
    @discardableResult
    public func cancel(_ selection: Selection, within time: Duration = Limits.cancelTime) async throws -> Int {
        try await storage.apply(.requestCancel(within: time), to: selection)
    }

    /// Takes messages out of the line at once. A worker that has one loses its lease, and what it says changes nothing.
    ///
    /// - Returns: how many.
    /// - Throws: as ``cancel(_:within:)``.
    @discardableResult
    public func cancelNow(_ selection: Selection) async throws -> Int {
        try await storage.apply(.cancel, to: selection)
    }

    /// Puts dead letters back in line with new attempts, and makes scheduled messages ready at once.
    ///
    /// - Returns: how many.
    /// - Throws: of messages that are selected by number, `PenstockError` with code `unknownMessage` or `illegalTransition`;
    ///   then none was moved. Messages of a queue that are in another state, or whose unique key another message has, are passed
    ///   over; ``deadWithoutKeyCount(of:group:)`` counts the latter. `selectionChanged` when more messages of a queue match than
    ///   were expected.
    @discardableResult
    public func redrive(_ selection: Selection) async throws -> Int {
        try await storage.apply(.redrive, to: selection)
    }

    /// How many dead letters of a queue cannot be redriven for now, as other messages have their unique keys: until those have ended,
    /// or are cancelled.
    ///
    /// - Parameters:
    ///   - queue: the queue whose dead letters are counted.
    ///   - group: only of that group; `nil`: of all.
    /// - Throws: `PenstockError` with code `unknownQueue` or `invalidInput`.
    public func deadWithoutKeyCount(of queue: QueueName, group: String? = nil) async throws -> Int {
        try await storage.deadWithoutKeyCount(of: queue, group: group)
    }

    /// Throws dead letters away.
    ///
    /// - Returns: how many.
    /// - Throws: of messages that are selected by number, `PenstockError` with code `unknownMessage` or `illegalTransition`;
    ///   then none was moved. Messages of a queue that are in another state are passed over. `selectionChanged` when more messages
    ///   of a queue match than were expected.
    @discardableResult
    public func discard(_ selection: Selection) async throws -> Int {
        try await storage.apply(.discard, to: selection)
    }

    /// Forgets ended messages beyond their retention, in small steps that hold nobody up for long.
    ///
    /// - Parameters:
    ///   - queue: only this queue's; `nil`: every queue's.
    ///   - retention: instead of the queues' own.
    /// - Returns: how many.
    @discardableResult
    public func prune(queue: QueueName? = nil, retention: Retention? = nil) async throws -> Int {
        let request = PruneRequest(queue: queue, retention: retention)
        var count = 0
        while true {
            let pruned = try await storage.prune(request)
            count += pruned.messages
            if !pruned.hasMore { return count }
            try Task.checkCancellation()
        }
    }
}
