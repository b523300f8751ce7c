package import PenstockCore
import PenstockProcesses
import Synchronization

/// A worker as its row says.
package struct WorkerRow: Sendable {
    package var id: Int64
    package var lockName: String
    /// The name of the clock on which its leases end.
    package var clockName: String
    /// When a worker asked for messages last that claims through another process, and has no lock; `nil`: it is a process.
    package var seenAt: Timestamp?

    package var isRemote: Bool { seenAt != nil }
}

/// What others can know of a worker, and what it means for its messages. Everything that asks goes by this one rule: what
/// puts messages back, what watches for them, the status and the doctor.
///
/// | the worker | its messages go back |
/// |---|---|
/// | is dead: the kernel says that nobody holds its lock, or its row names a file that no worker makes | at once |
/// | lives, and reads the clock that the asking process reads | when their leases have ended |
/// | lives, reads that clock, and asks for more time right now | not yet: the store has stalled, and the worker has not |
/// | lives, reads that clock, and the machine has just been suspended | not yet: each worker is about to ask (``MachineSuspension``) |
/// | lives, and reads another clock or one without a name | not: the end of such a lease says nothing here |
/// | is a process, and is looked for at a standby, which does not see its primary's sessions | not: nobody works there |
/// | is remote | when their leases have ended; after a reboot by the wall clock (``RemoteWorkers``) |
///
/// But for remote workers only the lock says which workers live. The name of a boot does not: a sandbox may hide it.
enum WorkerStanding: Sendable {
    case dead
    case lives(endsCount: Bool)

    /// How long a worker's word that it asks for more time holds. It is renewed each second, so a process that was stopped
    /// while it asked loses its messages this much after their ends.
    static let wordHolds = Duration.seconds(5)

    init(of worker: WorkerRow, at now: BootTime, _ sights: any WorkerSights) {
        if worker.isRemote {
            self = .lives(endsCount: worker.clockName == now.bootID)
            return
        }
        guard sights.seesProcesses else {
            self = .lives(endsCount: false)
            return
        }
        let sight = sights.sight(of: worker.lockName)
        guard sight.isHeld else {
            self = .dead
            return
        }
        self = .lives(endsCount: worker.clockName == now.bootID && !Self.asks(sight.askedAt, at: now))
    }

    var isDead: Bool {
        if case .dead = self { true } else { false }
    }

    private static func asks(_ askedAt: Int64?, at now: BootTime) -> Bool {
        guard let askedAt else { return false }
        let (age, overflow) = now.microseconds.subtractingReportingOverflow(askedAt)
        // A word from the future is none: nobody on this clock has given it.
        return !overflow && age >= 0 && age < wordHolds.wholeMicroseconds
    }
}

/// The workers that have a row and the first end of each one's leases, as they were at one moment of the file.
package struct HeldWork: Sendable {
    private(set) var workers: [WorkerRow] = []
    /// By worker, and on that worker's clock.
    private var firstEnds: [Int64: Int64] = [:]

    /// Nobody holds anything.
    package init() {}

    /// - Parameter horizon: on a server, from when on messages are leased that are leased still; `nil`: it is to be looked at all leases.
    package init(_ connection: Connection, since horizon: LeaseHorizon? = nil) throws {
        workers = try WorkerRow.all(connection)
        let statement = try connection.statement(Self.selectEnds)
        defer { statement.reset() }
        if connection.isServer { statement.bind(horizon?.start ?? 0, at: 1) }
        var firstClaim: Int64?
        while try statement.step() {
            let (worker, end) = (statement.integer(0), statement.integer(1))
            firstEnds[worker] = min(firstEnds[worker] ?? end, end)
            if connection.isServer { firstClaim = min(firstClaim ?? .max, statement.integer(2)) }
        }
        if let firstClaim { horizon?.found(firstClaim) }
    }

    /// Whether nobody holds anything.
    package var isEmpty: Bool { firstEnds.isEmpty }

    /// Whether something is to be put back in line.
    ///
    /// - Parameter forTheDead: whether to ask the kernel of each worker whether it lives. Those whose leases have ended are
    ///   asked about all the same.
    /// - Parameter sparesLiving: whether no lease of a worker that lives counts as ended.
    package func isLost(
        at now: BootTime, _ sights: any WorkerSights, forTheDead: Bool = true, sparesLiving: Bool = false
    ) -> Bool {
        // A lease whose worker has no row has nobody to settle it.
        let known = Set(workers.map(\.id))
        if firstEnds.keys.contains(where: { !known.contains($0) }) { return true }
        return workers.contains { worker in
            let hasEnded = hasEnded(worker, at: now)
            guard hasEnded || forTheDead else { return false }
            // Whoever reclaims moves the ends of its leases to this clock.
            if worker.isRemote, worker.clockName != now.bootID { return true }
            switch WorkerStanding(of: worker, at: now, sights) {
            case .dead: return true
            case .lives(let endsCount): return endsCount && hasEnded && !sparesLiving
            }
        }
    }

    /// The remote workers that hold nothing, and have not asked for messages after `moment`.
    package func idleWorkers(since moment: Timestamp) -> [Int64] {
        workers.filter { worker in firstEnds[worker.id] == nil && worker.seenAt.map { $0 <= moment } ?? false }.map(
            \.id)
    }

    /// How long it is until the end of a lease has to be looked at, on the clock of `now`; `nil` when none has to. For one
    /// that has ended and is still there somebody may be asking for more time, and it is looked at when that word no longer holds.
    package func untilNextEnd(at now: BootTime) -> Duration? {
        let ends = workers.compactMap { $0.clockName == now.bootID ? firstEnds[$0.id] : nil }
        return ends.map { end in
            end > now.microseconds ? .microseconds(end - now.microseconds) : WorkerStanding.wordHolds
        }.min()
    }

    private func hasEnded(_ worker: WorkerRow, at now: BootTime) -> Bool {
        guard worker.clockName == now.bootID, let end = firstEnds[worker.id] else { return false }
        return end <= now.microseconds
    }

    // Goes through all leases: an index of them would cost every message two writes.
    private static let selectEnds = Query(
        "SELECT worker_id, deadline FROM penstock_lease",
        server: """
            SELECT worker_id, min(deadline), min(claimed_at) FROM penstock_lease WHERE claimed_at >= ?1 GROUP BY worker_id
            """)
}

/// Since when the messages are leased that are leased still, as far as this process has seen.
///
/// On a server the leases that are gone lie in the table until nobody may see them any more. Those that are made later are made at a
/// later time, so a look need not go further back than the oldest that the last one found. A clock that was set back makes them at an earlier
/// one: a look that finds it so goes through all leases, and so does one in a minute, as nobody may have looked meanwhile.
package final class LeaseHorizon: Sendable {
    private struct Known {
        var firstClaim: Int64?
        var wholeLook: Timestamp?
        /// The latest time at which anybody looked.
        var latest: Timestamp?
    }

    private let time: any TimeSource
    private let known = Mutex(Known())

    /// - Parameter time: the clock by which leases are made.
    package init(by time: any TimeSource) { self.time = time }

    /// From which claim on a look goes; 0: it goes through all leases.
    fileprivate var start: Int64 {
        let now = time.now
        return known.withLock { known in
            if let latest = known.latest, now < latest - Self.margin { known = Known() }
            known.latest = max(known.latest ?? now, now)
            guard let first = known.firstClaim, let look = known.wholeLook, now - look < Self.wholeLookInterval else {
                known.wholeLook = now
                return 0
            }
            return first - Self.margin.wholeMicroseconds
        }
    }

    /// A look has found the oldest lease.
    fileprivate func found(_ firstClaim: Int64) { known.withLock { $0.firstClaim = firstClaim } }

    private static let wholeLookInterval = Duration.seconds(60)
    /// By how much the clocks of machines may differ that go by one server's.
    static let margin = Duration.seconds(1)
}

extension WorkerRow {
    package static func all(_ connection: Connection) throws -> [WorkerRow] {
        try connection.all(select) { row in
            WorkerRow(
                id: row.integer(0), lockName: row.text(1) ?? "", clockName: row.text(2) ?? "",
                seenAt: row.optionalInteger(3).map(Timestamp.init(microseconds:)))
        }
    }

    /// The number of a row that was just written.
    static func id(of lockName: String, _ connection: Connection) throws -> Int64 {
        let id = try connection.integer(readID, .text(lockName))
        guard let id else {
            throw PenstockError(.storage, "The worker's row was not written; run `penstock doctor`.")
        }
        return id
    }

    /// The rows that name a file which no worker makes.
    package static func strays(unless isName: (String) -> Bool, _ connection: Connection) throws -> [WorkerRow] {
        try all(connection).filter { !$0.isRemote && !isName($0.lockName) }
    }

    static let delete = Query("DELETE FROM penstock_worker WHERE id = ?1")
    private static let readID = Query("SELECT id FROM penstock_worker WHERE lock_name = ?1")
    private static let select = Query(
        """
        SELECT id, lock_name, boot_id, (SELECT seen_at FROM penstock_remote_worker WHERE worker_id = worker.id)
        FROM penstock_worker AS worker
        """)
}

/// Notices that the machine was suspended: the clock of leases has gone on, and no process has.
///
/// After that the leases of all workers may have ended at once, though each is about to ask for more time. The first
/// process to look must not take their messages: for a while after it has noticed, it counts no ends of leases. A process that was
/// started since does not know.
package final class MachineSuspension: Sendable {
    /// How long no ends count: time enough for a worker that lives to have its leases extended.
    static let grace = WorkerStanding.wordHolds
    /// Two clocks are not read in the same moment.
    private static let slack = Duration.seconds(1)

    private struct State {
        var asleep: Duration
        var noticedAt: BootTime?
    }

    private let asleep: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameter asleep: how long the machine has been suspended, counted from some moment.
    package init(asleep: @escaping @Sendable () -> Duration) {
        self.asleep = asleep
        state = Mutex(State(asleep: asleep()))
    }

    /// Whether the machine was suspended until a moment ago, as far as this process knows. To be asked often: what it
    /// notices is the difference to the time before.
    package func isJustOver(at now: BootTime) -> Bool {
        state.withLock { state in
            let asleep = asleep()
            if asleep - state.asleep > Self.slack { state.noticedAt = now }
            state.asleep = asleep
            guard let noticedAt = state.noticedAt else { return false }
            let isRecent = (noticedAt + Self.grace).left(at: now) != nil
            if !isRecent { state.noticedAt = nil }
            return isRecent
        }
    }

    /// Measures by the clock that goes on while the machine is suspended, and the one that does not.
    package static func measured() -> @Sendable () -> Duration {
        let (always, awake) = (ContinuousClock.now, SuspendingClock.now)
        return { (ContinuousClock.now - always) - (SuspendingClock.now - awake) }
    }
}
