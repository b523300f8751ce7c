public import PenstockCore

extension Queue {
    /// Puts an element in line.
    ///
    /// When it returns, the message survives what the receipt's durability says. What a full queue does is in its
    /// policy: with `wait` this suspends until there is room, in turn with the process's other producers for this queue.
    ///
    /// - Parameters:
    ///   - element: what the message carries, as the queue's codec writes it.
    ///   - headers: names and values that travel with it.
    ///   - priority: higher ones are claimed first.
    ///   - due: when it may first be claimed.
    ///   - attemptsMax: attempts allowed; `nil`: as many as the queue's policy says.
    ///   - uniqueKey: its key, if at most one message with it may wait or run.
    ///   - durability: what it must survive; `nil`: as the store was told.
    ///   - timeout: how long to wait for room; `nil`: for ever.
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput`, `queueFull` (policy `fail`), `timedOut`
    ///   (policy `wait`), `outcomeUnknown`, or what else the store throws. After each of these nothing was enqueued, but
    ///   after `outcomeUnknown` nobody knows. With a unique key the call can then be made again: while the first message
    ///   waits or runs, no second one is put in line.
    ///   `CancellationError` when the task is cancelled: then nothing was, or this call was just done.
    @discardableResult
    public func enqueue(
        _ element: Element,
        headers: [String: String] = [:],
        priority: Int = 0,
        due: Due = .now,
        attemptsMax: Int? = nil,
        uniqueKey: UniqueKey? = nil,
        durability: Durability? = nil,
        timeout: Duration? = nil
    ) async throws -> Receipt {
        let message = NewMessage(
            payload: try codec.encode(element), headers: headers, priority: priority, due: due,
            attemptsMax: attemptsMax, uniqueKey: uniqueKey)
        return try only(await offer([message], durability: durability, timeout: timeout))
    }

    /// Puts elements in line, in their order and with the same options.
    ///
    /// They go in together or not at all, but for a full queue whose policy is `wait`: there as many as there is room
    /// for go in at a time. When that ends in an error, the first ones are in line: `PenstockError.receipts` has theirs.
    /// After a cancellation the first ones may be in line as well.
    ///
    /// - Returns: a receipt for each, in order.
    /// - Throws: what ``enqueue(_:headers:priority:due:attemptsMax:uniqueKey:durability:timeout:)`` throws.
    @discardableResult
    public func enqueue(
        contentsOf elements: [Element],
        headers: [String: String] = [:],
        priority: Int = 0,
        due: Due = .now,
        attemptsMax: Int? = nil,
        durability: Durability? = nil,
        timeout: Duration? = nil
    ) async throws -> [Receipt] {
        let messages = try elements.map { element in
            NewMessage(
                payload: try codec.encode(element), headers: headers, priority: priority, due: due,
                attemptsMax: attemptsMax)
        }
        return try await offer(messages, durability: durability, timeout: timeout)
    }

    /// The receipt for the only message of a call.
    func only(_ receipts: [Receipt]) throws -> Receipt {
        guard let receipt = receipts.first else {
            throw PenstockError(.storage, "The store gave no receipt for a message that it accepted.")
        }
        return receipt
    }
}

extension Queue where Element == [UInt8] {
    /// Puts messages in line, in their order, each with options of its own.
    ///
    /// It does as ``enqueue(contentsOf:headers:priority:due:attemptsMax:durability:timeout:)``.
    @discardableResult
    public func enqueue(
        _ messages: [NewMessage], durability: Durability? = nil, timeout: Duration? = nil
    ) async throws -> [Receipt] {
        try await offer(messages, durability: durability, timeout: timeout)
    }
}
