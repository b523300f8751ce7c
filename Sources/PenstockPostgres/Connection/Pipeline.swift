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
    /// How many answers are still to come.
    var pendingCount = 0
    /// How many rows the statement changed whose answer was read last.
    var lastChangesCount = 0
}

extension ServerConnection {
    /// Sends a statement that was prepared and gives no rows, in a transaction. What comes of it is said by a later call.
    func send(prepared name: String, _ parameters: [[UInt8]?]) throws {
        try beginPipeline()
        try sentAhead(submit(name, parameters))
        if pipeline.pendingCount >= Pipeline.countMax { try readPipeline() }
    }

    /// How many rows the last statement changed.
    func changesCount() throws -> Int {
        if pipeline.pendingCount > 0 { try readPipeline() }
        return pipeline.lastChangesCount
    }

    /// Sends `sql` and COMMIT behind what was sent, and reads the answers to all of it.
    func commit(after sql: String) throws {
        try beginPipeline()
        for text in [sql, "COMMIT"] { try sentAhead(PQsendQueryParams(connection, text, 0, nil, nil, nil, nil, 1)) }
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
        guard PQpipelineSync(connection) == 1 else { throw refused }
        do {
            try readPending()
        } catch {
            abandonPipeline()
            throw error
        }
        // The point at which both sides have met.
        try answer(1)
        pipeline = Pipeline(lastChangesCount: pipeline.lastChangesCount)
        guard PQexitPipelineMode(connection) == 1 else { throw refused }
    }

    func sentAhead(_ isSent: Int32) throws {
        guard isSent == 1 else { throw refused }
        pipeline.pendingCount += 1
    }

    /// Reads the answers to all that was sent.
    ///
    /// - Returns: the last one's.
    @discardableResult
    func readPipeline() throws -> ServerResult {
        guard PQsendFlushRequest(connection) == 1 else { throw refused }
        do {
            if let last = try readPending() { return last }
        } catch {
            if !isLost, PQpipelineSync(connection) == 1 { abandonPipeline() }
            throw error
        }
        throw refused
    }

    @discardableResult
    private func readPending() throws -> ServerResult? {
        var last: ServerResult?
        while pipeline.pendingCount > 0 {
            pipeline.pendingCount -= 1
            let answer = try answer(1)
            pipeline.lastChangesCount = answer.changesCount
            last = answer
        }
        return last
    }

    /// Reads what is left after a statement has failed, up to the point at which both sides meet. None of it was carried out.
    private func abandonPipeline() {
        while !isLost, pipeline.pendingCount >= 0 {
            pipeline.pendingCount -= 1
            _ = try? answer(1)
        }
        pipeline = Pipeline()
        if !isLost { PQexitPipelineMode(connection) }
    }

    private var refused: ServerError {
        ServerError(message: "the connection takes no statements (\(lastMessage))", isLost: true)
    }
}
