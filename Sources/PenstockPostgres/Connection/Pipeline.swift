import CPenstockPostgres

/// Statements that were sent, and whose answers were not read yet.
///
/// A transaction of the writer is a few dozen statements. Most give no rows, and nothing depends on them but that they succeed: these
/// are sent one behind the other, and their answers are read with the next rows that somebody needs, or with the COMMIT. So a
/// transaction takes a handful of ways to the server and back instead of one for each statement, and the lock that it holds is
/// free so much earlier. A statement that fails is found at the next reading; the server carries out none behind it.
///
/// Source: PostgreSQL's manual, "Pipeline Mode" of libpq.
struct Pipeline {
    /// More is read before more is sent, so that neither side has to keep much for the other.
    static let countMax = 200

    var isOpen = false
    /// What is still to be answered, in this order: for statements that write, nothing has to be kept.
    private(set) var pending: [Prefetched?] = []
    private var answeredCount = 0

    /// Both sides have met.
    mutating func close() {
        let count = lastChangesCount
        self = Pipeline()
        lastChangesCount = count
    }

    /// How many answers are still to come.
    var pendingCount: Int { pending.count - answeredCount }

    mutating func sent(_ rows: Prefetched?) { pending.append(rows) }

    /// Takes out what the next answer is to.
    mutating func next() -> Prefetched?? {
        guard answeredCount < pending.count else { return nil }
        defer { answeredCount += 1 }
        return .some(pending[answeredCount])
    }
    /// How many rows the statement changed whose answer was read last.
    var lastChangesCount = 0
}

/// The rows of a statement that was sent before it was run.
final class Prefetched {
    /// The values with which it was sent.
    let values: [[UInt8]?]
    /// `nil`: they have not come yet.
    var result: ServerResult?

    init(_ values: [[UInt8]?]) { self.values = values }
}

extension ServerConnection {
    /// Sends a statement that was prepared and gives no rows, in a transaction. What comes of it is said by a later call.
    func send(prepared name: String, _ parameters: [[UInt8]?]) throws {
        try beginPipeline()
        try sentAhead(submit(name, parameters))
        if pipeline.pendingCount >= Pipeline.countMax { try readPipeline() }
    }

    /// Sends a statement that was prepared and reads, in a transaction. Its rows come with the next ones that somebody waits for.
    func send(prepared name: String, for rows: Prefetched) throws {
        try beginPipeline()
        try sentAhead(submit(name, rows.values), for: rows)
    }

    /// Sends statements without parameters, whose answers come with the next rows that somebody waits for.
    func send(_ statements: [String]) throws {
        try beginPipeline()
        for text in statements { try sentAhead(PQsendQueryParams(connection, text, 0, nil, nil, nil, nil, 1)) }
    }

    /// How many rows the last statement changed.
    func changesCount() throws -> Int {
        if pipeline.pendingCount > 0 { try readPipeline() }
        return pipeline.lastChangesCount
    }

    /// Sends COMMIT behind what was sent, and reads the answers to all of it.
    func commit() throws {
        try send(["COMMIT"])
        try endPipeline()
    }

    func beginPipeline() throws {
        if pipeline.isOpen { return }
        guard PQenterPipelineMode(connection) == 1 else { throw refused }
        pipeline.isOpen = true
    }

    /// Reads the answers to all that was sent, so that statements without parameters may be run again.
    func endPipeline() throws {
        guard pipeline.isOpen else { return }
        try meet()
        pipeline.close()
        guard PQexitPipelineMode(connection) == 1 else { throw refused }
    }

    func sentAhead(_ isSent: Int32, for rows: Prefetched? = nil) throws {
        guard isSent == 1 else { throw refused }
        pipeline.sent(rows)
    }

    /// Reads the answers to all that was sent.
    ///
    /// - Returns: the last one's.
    @discardableResult
    func readPipeline() throws -> ServerResult {
        guard let last = try meet() else { throw refused }
        return last
    }

    /// Reads the answers to all that was sent, up to a point at which both sides meet. From there on the server counts how long this process
    /// says nothing, and ends the session of one that is stopped in a transaction. Where it is only asked for its answers it does not.
    @discardableResult
    private func meet() throws -> ServerResult? {
        guard PQpipelineSync(connection) == 1 else { throw refused }
        do {
            let last = try readPending()
            try answer(1)
            return last
        } catch {
            abandonPipeline()
            throw error
        }
    }

    private func readPending() throws -> ServerResult? {
        var last: ServerResult?
        while let rows = pipeline.next() {
            let answer = try answer(1)
            if let rows { rows.result = answer } else { pipeline.lastChangesCount = answer.changesCount }
            last = answer
        }
        return last
    }

    /// Reads what is left after a statement has failed, up to the point at which both sides meet. None of it was carried out.
    private func abandonPipeline() {
        repeat { _ = try? answer(1) } while !isLost && pipeline.next() != nil
        pipeline = Pipeline()
        if !isLost { PQexitPipelineMode(connection) }
    }

    private var refused: ServerError {
        ServerError(message: "the connection takes no statements (\(lastMessage))", isLost: true)
    }
}
