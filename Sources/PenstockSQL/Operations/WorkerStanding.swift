import PenstockCore
import PenstockProcesses

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
