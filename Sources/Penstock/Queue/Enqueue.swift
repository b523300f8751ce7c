public import PenstockCore

/// What goes with an element into a queue, beside its payload.
///
/// ```swift
/// try await mails.enqueue(mail, options: .init(priority: 5, due: .after(.seconds(60))))
/// ```
public struct EnqueueOptions: Hashable, Sendable {
    /// Names and values that travel with the message.
    public var headers: [String: String]
    /// Higher priorities are claimed first. Within `Limits.priorityRange`.
    public var priority: Int
    /// When the message may first be claimed.
    public var due: Due
    /// How many attempts are allowed; `nil`: as many as the queue's policy says.
    public var attemptsMax: Int?
    /// What the message is, for a worker that chooses its handler by that (``Handlers``, ``Worker/Options/kinds``); see `KindName`.
    /// It lies among the message's headers, as `penstock-kind`.
    public var kind: String?
    /// Its key, if at most one message with it is to hold it: while that waits or runs, or as the key's scope says.
    public var uniqueKey: UniqueKey?
    /// The key of its group, in a queue that has groups; see `GroupPolicy`.
    public var group: String?
    /// Until when it may start; `nil`: at any time. What becomes of it then is in the queue's policy (`QueuePolicy.whenExpired`).
    public var expiry: Expiry?

    /// Makes options: no headers, priority 0, due at once, attempts as the queue's policy says, no kind, no key, no group, no
    /// expiry.
    public init(
        headers: [String: String] = [:],
        priority: Int = 0,
        due: Due = .now,
        attemptsMax: Int? = nil,
        kind: String? = nil,
        uniqueKey: UniqueKey? = nil,
        group: String? = nil,
        expiry: Expiry? = nil
    ) {
        self.headers = headers
        self.priority = priority
        self.due = due
        self.attemptsMax = attemptsMax
        self.kind = kind
        self.uniqueKey = uniqueKey
        self.group = group
        self.expiry = expiry
    }
}

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
        return try only(await accept([message], durability, timeout))
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
    /// - Throws: what ``enqueue(_:options:durability:timeout:)-(Element,_,_,_)`` throws, and what `options` throws.
    @discardableResult
    public func enqueue(
        contentsOf elements: [Element],
        durability: Durability? = nil,
        timeout: Duration? = nil,
        options: (Element) throws -> EnqueueOptions = { _ in EnqueueOptions() }
    ) async throws -> [Receipt] {
        let messages = try elements.map { try message($0, options($0)) }
        return try await accept(messages, durability, timeout)
    }
}

extension Queue where Element == [UInt8] {
    /// Puts messages in line, in their order, as a store takes them. Their payloads go through the queue's codecs, unless a message's
    /// header says that its own has.
    ///
    /// It does as ``enqueue(contentsOf:durability:timeout:options:)``.
    @discardableResult
    public func enqueue(
        _ messages: [NewMessage], durability: Durability? = nil, timeout: Duration? = nil
    ) async throws -> [Receipt] {
        try await accept(try coded(messages), durability, timeout)
    }

    /// The same for somebody who may lose the right to it while he waits for room.
    ///
    /// - Parameter mayOffer: asked before each offer; what it throws ends the call. What went in before stays.
    @discardableResult
    package func enqueue(
        _ messages: [NewMessage], asking mayOffer: @Sendable () throws -> Void
    ) async throws -> [Receipt] {
        try await accept(try coded(messages), nil, nil, asking: mayOffer)
    }

    private func coded(_ messages: [NewMessage]) throws -> [NewMessage] {
        try codec.chain.isEmpty ? messages : messages.map(codec.chain.coded)
    }
}

extension Queue {
    func message(_ element: Element, _ options: EnqueueOptions) throws -> NewMessage {
        let (payload, header) = try codec.chain.encode(codec.elements.encode(element))
        var headers = options.headers
        // Of a message whose headers are handed on, the payload is another one.
        if header != nil || !headers.isEmpty { headers[CodecChain.header] = header }
        if let kind = options.kind { headers[KindName.header] = try KindName(kind).text }
        return NewMessage(
            payload: payload, headers: headers, priority: options.priority, due: options.due,
            attemptsMax: options.attemptsMax, uniqueKey: options.uniqueKey, group: options.group,
            expiry: options.expiry)
    }

    /// The receipt for the only message of a call.
    func only(_ receipts: [Receipt]) throws -> Receipt {
        guard let receipt = receipts.first else { throw PenstockError.noReceipt }
        return receipt
    }

    /// Puts all of `messages` in line. When the queue is full and its policy is `wait`, offers the rest again each time
    /// there may be room, in turn with the process's other producers for it.
    ///
    /// A queue that is not full costs one call of the store, whatever its policy.
    private func accept(
        _ messages: [NewMessage], _ durability: Durability?, _ timeout: Duration?,
        asking mayOffer: @Sendable () throws -> Void = {}
    ) async throws -> [Receipt] {
        if messages.isEmpty { return [] }
        guard let tracing = handle.tracing else { return try await putInLine(messages, durability, timeout, mayOffer) }
        return try await tracing.send(messages, to: name) { try await putInLine($0, durability, timeout, mayOffer) }
    }

    private func putInLine(
        _ messages: [NewMessage], _ durability: Durability?, _ timeout: Duration?,
        _ mayOffer: @Sendable () throws -> Void
    ) async throws -> [Receipt] {
        let deadline = timeout.map { handle.time.boot + $0 }
        let durability = durability ?? handle.durability
        var receipts: [Receipt] = []
        // A producer that comes while others wait may not overtake them.
        if handle.lines.count(for: name) == 0 {
            try mayOffer()
            receipts = try await offer(messages, durability)
            if receipts.count == messages.count { return receipts }
        }
        let place = handle.lines.join(name)
        defer { handle.lines.leave(place) }
        do {
            try await within(deadline, handle.time) { try await handle.lines.reachHead(place) }
            while true {
                // The token comes before the offer: a ring in between is not lost.
                let token = storage.changes.token(for: name)
                try mayOffer()
                receipts += try await offer(Array(messages.dropFirst(receipts.count)), durability)
                if receipts.count == messages.count { return receipts }
                try await within(deadline, handle.time) { try await handle.waitForRoom(in: name, after: token) }
            }
        } catch is DeadlinePassed {
            var error = PenstockError(
                .timedOut,
                "The queue '\(name)' was full for the whole timeout; "
                    + "\(receipts.count) of \(messages.count) messages were enqueued. Offer the rest again later.")
            error.receipts = receipts
            throw error
        } catch var error as PenstockError {
            // What went in before stays, and its caller has to know.
            error.receipts = receipts
            throw error
        }
    }

    private func offer(_ messages: [NewMessage], _ durability: Durability) async throws -> [Receipt] {
        let receipts = try await storage.enqueue(messages, to: name, durability: durability)
        metrics.record(receipts, of: messages)
        return receipts
    }
}

extension PenstockError {
    static let noReceipt = PenstockError(.storage, "The store gave no receipt for a message that it accepted.")
}
