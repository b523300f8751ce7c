/// One life of a server, from its start to its end: what was committed in one may be unknown to the next, or to a server that was promoted.
/// A crash of its processes that its main process outlives is no end: it ends all connections, and takes what was not flushed.
struct ServerLife: Equatable, Sendable {
    /// When it began, in microseconds of its own clock.
    private let startedAt: Int64

    init(startedAt: Int64) {
        self.startedAt = startedAt
    }

    init(_ server: ServerConnection) throws {
        let answer = try server.run("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint")
        startedAt = Int64(answer.text(0, 0)) ?? 0
    }

    /// Sees to it that the life of a server has begun, with all that `penstock_begin_incarnation` says begins with it. Called at the
    /// beginning of each writer's connection.
    static func begin(_ server: ServerConnection) throws {
        let known = try server.run("SELECT 1 FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()")
        if known.rowCount > 0 { return }
        try server.run("BEGIN; SELECT penstock_write_lock(); SELECT penstock_begin_incarnation(); COMMIT")
    }

    /// An answer to another process with this life before it.
    func stamped(_ answer: [UInt8]) -> [UInt8] { withUnsafeBytes(of: startedAt) { Array($0) } + answer }

    /// The answer that was given in this life; `nil`: it was another one.
    func answer(in stamped: [UInt8]) -> [UInt8]? {
        let stamp = withUnsafeBytes(of: startedAt) { Array($0) }
        return stamped.starts(with: stamp) ? Array(stamped.dropFirst(stamp.count)) : nil
    }
}
