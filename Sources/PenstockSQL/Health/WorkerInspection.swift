package import PenstockCore
import PenstockProcesses

/// Whether the workers that hold messages get on with them.
package struct WorkerInspection {
    let stuckAfter: Duration
    let time: any TimeSource
    let locks: any WorkerLocks

    package init(stuckAfter: Duration, time: any TimeSource, locks: any WorkerLocks) {
        self.stuckAfter = stuckAfter
        self.time = time
        self.locks = locks
    }

    package func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        let boot = time.boot
        let now = time.now
        let workers = try QueueReader.workers(connection, time, locks)
        report.deadWorkers = workers.filter { $0.isAlive == false }
        report.stuckWorkers = workers.filter { worker in
            guard worker.isAlive == true, let claimed = worker.oldestClaim else { return false }
            return now - claimed > stuckAfter
        }
        report.expiredLeases = try Reclaiming.endedLeaseCount(connection, boot: boot, locks)
        describe(&report)
        report.add(
            .deadWorkers, .warning,
            "COUNT {message is|messages are} leased to a worker that has no row in penstock_worker, and counts as dead; any running worker "
                + "puts {it|them} back.", count: try Reclaiming.orphanedLeaseCount(connection))
    }

    private func describe(_ report: inout HealthReport) {
        for worker in report.deadWorkers where worker.leased > 0 {
            let what = CountedText.sentence(
                "COUNT {message|messages}; any running worker puts {it|them} back.", worker.leased)
            report.add(.deadWorkers, .warning, "The worker \(worker.name) is dead and holds \(what)")
        }
        for worker in report.stuckWorkers {
            report.add(
                .stuckWorkers, .warning,
                "The worker \(worker.name) lives and has held a message for longer than \(stuckAfter); look at "
                    + (worker.processID.map { "process \($0)." } ?? "it where it runs."))
        }
        report.add(
            .expiredLeases, .warning,
            "COUNT {lease has ended and was not extended; any running worker puts its message|leases have ended and were "
                + "not extended; any running worker puts their messages} back.", count: report.expiredLeases)
    }
}
