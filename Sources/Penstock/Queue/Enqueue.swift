public import PenstockCore

extension Queue {
    /// Puts an element in line.
    ///
    /// When it returns, the message survives what the receipt's durability says. What a full queue does is in its
    /// policy: with `wait` this suspends until there is room, in turn with the process's other producers for this queue.
    ///
    /// - Parameters:
    ///   - element: what the message carries, as the queue's codec writes it.
    ///   - options: headers, priority, due time, attempts and unique key.
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
        options: EnqueueOptions = EnqueueOptions(),
        durability: Durability? = nil,
        timeout: Duration? = nil
    ) async throws -> Receipt {
        let message = try message(element, options)
        return try only(await handle.enqueue([message], to: name, durability: durability, timeout: timeout))
    }

    /// Puts elements in line, in their order, each with options of its own.
    ///
    /// They go in together or not at all, but for a full queue whose policy is `wait`: there as many as there is room
    /// for go in at a time. When that ends in an error, the first ones are in line: `PenstockError.receipts` has theirs.
    /// After a cancellation the first ones may be in line as well.
    ///
    /// ```swift
    /// try await mails.enqueue(contentsOf: letters) { letter in
    ///     EnqueueOptions(uniqueKey: UniqueKey(letter.id))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - elements: what the messages carry, as the queue's codec writes it.
    ///   - durability: what they must survive; `nil`: as the store was told.
    ///   - timeout: how long to wait for room; `nil`: for ever.
    ///   - options: gives each element's options.
    /// - Returns: a receipt for each, in order.
    /// - Throws: what ``enqueue(_:options:durability:timeout:)`` throws, and what `options` throws.
    @discardableResult
    public func enqueue(
        contentsOf elements: [Element],
        durability: Durability? = nil,
        timeout: Duration? = nil,
        options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) async throws -> [Receipt] {
        let messages = try elements.map { try message($0, options($0)) }
        return try await handle.enqueue(messages, to: name, durability: durability, timeout: timeout)
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
    /// Puts messages in line, in their order, as a store takes them.
    ///
    /// It does as ``enqueue(contentsOf:durability:timeout:options:)``.
    @discardableResult
    public func enqueue(
        _ messages: [NewMessage], durability: Durability? = nil, timeout: Duration? = nil
    ) async throws -> [Receipt] {
        try await handle.enqueue(messages, to: name, durability: durability, timeout: timeout)
    }
}
