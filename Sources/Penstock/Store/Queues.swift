public import PenstockCore

extension PenstockStore {
    /// A queue of `Codable` elements, as JSON.
    ///
    /// - Parameters:
    ///   - name: the queue's name: 1 to 200 bytes of UTF-8.
    ///   - type: what its messages carry.
    ///   - codecs: what payloads go through on their way into the log, in this order: compression, then encryption. Those that are there
    ///     already are read by what their headers say.
    ///   - policy: what the queue is told when it is made; `nil`: `QueuePolicy()`. One that exists keeps its own, which an
    ///     operator may have changed meanwhile; ``Queue/setPolicy(_:)`` gives it another.
    ///   - create: whether to make the queue when there is none.
    /// - Throws: `PenstockError` with code `invalidInput` for a name or policy that cannot be, or two codecs of one
    ///   name; `unknownQueue` when there is none and `create` is false; what the store throws.
    public func queue<Element: Codable & Sendable>(
        _ name: String, of type: Element.Type, codecs: [any ByteCodec] = [], policy: QueuePolicy? = nil,
        create: Bool = true
    ) async throws -> Queue<Element> {
        try await queue(name, codec: JSONCodec<Element>(), codecs: codecs, policy: policy, create: create)
    }

    /// A queue of raw bytes.
    ///
    /// It does as ``queue(_:of:codecs:policy:create:)``.
    public func queue(
        _ name: String, codecs: [any ByteCodec] = [], policy: QueuePolicy? = nil, create: Bool = true
    ) async throws -> Queue<[UInt8]> {
        try await queue(name, codec: BytesCodec(), codecs: codecs, policy: policy, create: create)
    }

    /// A queue of raw bytes that is not looked up, for one call that says by itself when there is none.
    package func queueNotLookedUp(_ name: QueueName) -> Queue<[UInt8]> {
        Queue(name, codec: QueueCodec(elements: BytesCodec()), handle: handle)
    }

    /// A queue whose payloads are given as they are in the log, whichever codecs they went through: for a program that hands them to
    /// others, with the header that says so.
    package func queueAsStored(_ name: String) async throws -> Queue<[UInt8]> {
        let queue = try await queue(name, create: false)
        return Queue(queue.name, codec: QueueCodec(elements: BytesCodec(), chain: .passing), handle: handle)
    }

    /// A queue whose payloads a codec makes and reads.
    ///
    /// It does as ``queue(_:of:codecs:policy:create:)``.
    public func queue<Codec: PayloadCodec>(
        _ name: String, codec: Codec, codecs: [any ByteCodec] = [], policy: QueuePolicy? = nil, create: Bool = true
    ) async throws -> Queue<Codec.Element> {
        let chain = try CodecChain(codecs)
        let name = try QueueName(name)
        try policy?.validate()
        if create {
            try await storage.configure(name, .create(policy ?? QueuePolicy(), ifAbsent: true))
        } else {
            // The cheapest question that throws when the queue does not exist. It asks for no message, so a server answers it to
            // everybody who may use the queue.
            _ = try await storage.messages(MessageQuery(queue: name, sequences: [], limit: 1))
        }
        return Queue(name, codec: QueueCodec(elements: codec, chain: chain), handle: handle)
    }

    /// All queues with their policies and numbers, by name.
    public func queues() async throws -> [QueueStatus] {
        let queues = try await storage.status(of: nil).queues
        for queue in queues { handle.metrics(of: queue.name).record(queue, at: handle.time.now) }
        return queues
    }

    /// The processes that hold leases or held them lately.
    public func workers() async throws -> [WorkerRecord] {
        try await storage.status(of: nil).workers
    }

    /// How long this process has waited for the disk and for other processes that write, since it opened the store. Nothing of a
    /// store at a server, or one in memory.
    public var timings: StoreTimings { storage.timings }

    /// Makes a limit on messages with workers that queues share by naming it (`QueuePolicy.sharedLimit`), or changes its count.
    /// A lower one takes nothing from workers: nothing more is claimed until so many have ended.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when the name or the count cannot be.
    public func setLimit(_ name: String, to count: Int) async throws {
        try await storage.setLimit(LimitName(name), to: count)
    }

    /// Removes a limit that no queue shares any more.
    ///
    /// - Throws: `PenstockError` with code `unknownLimit`; `illegalTransition` while queues share it.
    public func removeLimit(_ name: String) async throws {
        try await storage.setLimit(LimitName(name), to: nil)
    }

    /// The limits that queues share, by name.
    public func limits() async throws -> [LimitRecord] {
        try await storage.limits()
    }

    /// Removes a queue with all its messages, its history and its schedules.
    ///
    /// - Throws: `PenstockError` with code `unknownQueue`, or `illegalTransition` when messages wait or run, unless
    ///   `force` is true.
    public func delete(_ queue: QueueName, force: Bool = false) async throws {
        try await storage.configure(queue, .delete(force: force))
    }
}
