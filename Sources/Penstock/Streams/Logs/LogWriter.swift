internal import PenstockCore
internal import Synchronization

/// Writes into a log, and looks at it, in the order in which it was asked to, whether or not the caller waits.
///
/// One task works off what was asked for while there is something. It belongs to the store, and closing the store waits
/// for it: what was handed over is written, also when its sender is gone.
final class LogWriter: Sendable {
    let name: QueueName
    private let handle: StoreHandle
    /// When the log has this cursor, nothing is appended any more.
    private let ending: CursorName?
    private let executor: (any TaskExecutor)?
    private let staging = Mutex(LogStaging())

    init(
        _ name: QueueName, handle: StoreHandle, unless ending: CursorName? = nil, executor: (any TaskExecutor)? = nil
    ) {
        self.name = name
        self.handle = handle
        self.ending = ending
        self.executor = executor
    }

    /// Appends a message after everything that was asked for before, and returns when it is committed.
    func append(_ message: NewMessage) async throws -> Receipt {
        try check(message)
        let name = staging.withLock { $0.newName() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let append = LogStaging.Append(name: name, message: message, isHandedOver: false) {
                    continuation.resume(with: $0)
                }
                // Inside the lock, so that a cancellation finds the append or is found.
                let isAdded = add { Task.isCancelled ? nil : $0.add(append) }
                if !isAdded { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let append = staging.withLock { $0.withdraw(name) }
            append?.answer(.failure(CancellationError()))
        }
    }

    /// Hands a message over, to be appended after everything that was asked for before.
    ///
    /// - Parameters:
    ///   - limit: how many may wait that were handed over.
    ///   - bytesLimit: how many bytes of payloads these may have, but for the one that exceeds them.
    ///   - answer: told what came of it, on the writer's task. Nothing else happens there until it returns.
    /// - Throws: `invalidInput`; `queueFull` when so many wait already. Then `answer` is not called.
    func handOver(
        _ message: NewMessage, limit: Int, bytesLimit: Int = .max, _ answer: @escaping LogStaging.Answer
    ) throws {
        try check(message)
        let isAdded = add { staging in
            if staging.handedOver >= limit || staging.handedOverBytes >= bytesLimit { return nil }
            let name = staging.newName()
            return staging.add(.init(name: name, message: message, isHandedOver: true, answer: answer))
        }
        if !isAdded {
            throw PenstockError(
                .queueFull,
                "\(limit) messages for the log '\(name)', or \(bytesLimit) bytes of them, wait to be written; await some of them."
            )
        }
    }

    /// Looks at the log's last `count` messages, when everything that was asked for before is done.
    func beginning(last count: Int) -> Waiter<LogBeginning> {
        let waiter = Waiter<LogBeginning>()
        add { $0.add(waiter, last: count) }
        return waiter
    }

    /// Runs `body` when everything that was asked for before is done. Nothing else is done until it returns.
    func inTurn(_ body: @escaping @Sendable () async -> Void) {
        add { $0.add(body) }
    }

    /// Runs `body` when everything that was asked for before is done, and gives its answer.
    func inTurn<Answer: Sendable>(
        _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            inTurn { continuation.resume(with: await Result.of { try await body() }) }
        }
    }

    /// Returns when everything that was asked for before is done.
    func flush() async {
        await withCheckedContinuation { continuation in
            inTurn { continuation.resume() }
        }
    }

    /// A message that cannot be accepted is its caller's concern alone.
    private func check(_ message: NewMessage) throws {
        try NewMessage.validate(appended: [message], now: handle.time.now)
    }

    /// - Parameter change: adds to the line, and says whether work has to begin; `nil`: nothing was added.
    /// - Returns: whether something was added.
    @discardableResult
    private func add(_ change: (inout LogStaging) -> Bool?) -> Bool {
        guard let mustBegin = staging.withLock({ change(&$0) }) else { return false }
        if mustBegin { handle.backgroundTasks.begin(on: executor) { await self.work() } }
        return true
    }

    private func work() async {
        while let step = staging.withLock({ $0.next() }) {
            switch step {
            case .append(let appends): await write(appends)
            case .beginning(let count, let waiters): await beginning(last: count, for: waiters)
            case .perform(let body): await body()
            }
        }
    }

    private func write(_ appends: [LogStaging.Append]) async {
        let messages = appends.map(\.message)
        let outcome = await Result.of {
            try await handle.storage.append(messages, to: name, unless: ending, durability: handle.durability)
        }
        if case .success(let receipts) = outcome { handle.metrics(of: name).record(receipts, of: messages) }
        staging.withLock { $0.answered(appends) }
        for (index, append) in appends.enumerated() {
            append.answer(
                outcome.flatMap { receipts in
                    index < receipts.count ? .success(receipts[index]) : .failure(PenstockError.noReceipt)
                })
        }
        // A log has no workers that would keep house.
        if handle.pruneGate.isDue {
            handle.backgroundTasks.begin(isDispensable: true) { [handle] in await Upkeep(handle: handle).prune() }
        }
    }

    private func beginning(last count: Int, for waiters: [Waiter<LogBeginning>]) async {
        let query = LogQuery(queue: name, .last(count), limit: LogAccess<Void>.pageCountMax, cursor: ending)
        let result = await Result.of { LogBeginning(try await handle.storage.log(query)) }
        for waiter in waiters { waiter.answer(result) }
    }
}
