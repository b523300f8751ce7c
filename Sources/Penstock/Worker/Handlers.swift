internal import PenstockCore

/// Which handler works which kind of message, for a ``Worker`` of a queue that has several kinds.
///
/// ```swift
/// var handlers = Handlers()
/// handlers.add(Welcome.self) { delivery in try await greet(delivery.payload.user) }
/// handlers.add(Invoice.self) { delivery in try await bill(delivery.payload) }
/// let worker = Worker(jobs, handlers: handlers, options: .init(concurrency: 8))
/// ```
///
/// A message of a kind that has no handler here, or of none, waits for a worker that has one: see ``Worker/Options/kinds``.
public struct Handlers: Sendable {
    private var byKind: [String: Worker<[UInt8]>.Handler] = [:]
    private var repeated: String?

    /// Makes a registry without handlers.
    public init() {}

    /// Has messages of that type's kind worked by `handler`. What it does decides about its message, as for every ``Worker``.
    ///
    /// A payload that is none of that type makes its message a dead letter, with the reason, and the handler is not called.
    public mutating func add<Kind: MessageKind>(
        _ type: Kind.Type, _ handler: @escaping @Sendable (Delivery<Kind>) async throws -> Void
    ) {
        add(type.kind) { delivery in
            let decoded: Delivery<Kind>
            do {
                decoded = delivery.with(payload: try JSONCodec<Kind>().decode(delivery.payload))
            } catch {
                throw UndecodablePayload(cause: error)
            }
            try await handler(decoded)
        }
    }

    /// Has messages of that kind worked by `handler`, which gets their payloads as they are.
    public mutating func add(_ kind: String, _ handler: @escaping Worker<[UInt8]>.Handler) {
        if byKind.updateValue(handler, forKey: kind) != nil { repeated = repeated ?? kind }
    }

    /// The kinds that have a handler.
    public var kinds: Set<String> { Set(byKind.keys) }

    func validate() throws(PenstockError) {
        guard let repeated else { return }
        throw PenstockError(
            .invalidInput,
            "The kind '\(repeated)' has two handlers; a kind has one, so give one of its types another kind.")
    }

    func handle(_ delivery: Delivery<[UInt8]>) async throws {
        guard let handler = delivery.kind.flatMap({ byKind[$0] }) else {
            throw PenstockError(.invalidInput, "There is no handler for the kind of message \(delivery.sequence).")
        }
        try await handler(delivery)
    }
}

extension Worker where Element == [UInt8] {
    /// Makes a worker that chooses each message's handler by its kind. It does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - queue: the queue.
    ///   - handlers: one for each kind.
    ///   - options: those of the worker. Their ``Options/kinds`` become those that have a handler.
    public init(_ queue: Queue<[UInt8]>, handlers: Handlers, options: Options = Options()) {
        self.init([queue], handlers: handlers, options: options)
    }

    /// Makes a worker of several queues that chooses each message's handler by its kind. It does nothing before ``run()``.
    ///
    /// It does as ``init(_:order:options:handler:)`` and ``init(_:handlers:options:)``.
    public init(
        _ queues: [Queue<[UInt8]>], order: QueueOrder = .strict, handlers: Handlers, options: Options = Options()
    ) {
        var options = options
        options.kinds = handlers.kinds
        self.init(queues, order: order, options: options) { try await handlers.handle($0) }
        self.handlers = handlers
    }
}

/// The payload of a message is none of the type that its kind stands for.
struct UndecodablePayload: Error {
    let cause: any Error
}
