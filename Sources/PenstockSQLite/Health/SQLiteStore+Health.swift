import GRDB
public import PenstockCore
import PenstockProcesses
import PenstockSQL

extension SQLiteStore {
    /// Inspects the file at `path`, as `PenstockStore.inspectHealth` says, as far as it can be read.
    ///
    /// Nothing is written but by one passive checkpoint, which changes nothing that anybody sees, and which is left out when
    /// the file cannot be written, its schema is newer, or something in it is wrong.
    public static func inspectHealth(
        path: String, stuckAfter: Duration = .seconds(3600), time: any TimeSource = SystemTime()
    ) async throws -> HealthReport {
        try await DatabasePath.use(path, mustExist: true) { path in
            try HealthInspection(path: path, stuckAfter: stuckAfter, time: time).report()
        }
    }

    /// Makes the file at `path` agree with itself again, as `PenstockStore.repair` says, and after that the folder beside it,
    /// where a file is damaged or has a wrong mode. With `dryRun` the file is left as it is, but for the write lock, which is
    /// held meanwhile. It mends no damage to the file itself, and no lost table.
    public static func repair(
        path: String, dryRun: Bool = false, time: any TimeSource = SystemTime()
    ) async throws -> RepairReport {
        try await DatabasePath.use(path, mustExist: true) { path in
            try repair(resolved: path, dryRun: dryRun, now: time.now)
        }
    }

    /// As ``repair(path:dryRun:time:)``, at a path that leads to no other one.
    ///
    /// - Parameter open: opens the file, which reads of it.
    static func repair(
        resolved path: String, dryRun: Bool, now: Timestamp,
        open: (String, Configuration) throws -> DatabaseQueue = { try DatabaseQueue(path: $0, configuration: $1) }
    ) throws -> RepairReport {
        try OtherNames.refuse(path)
        let beside = DatabaseCompanions(of: path)
        let busyMax = Duration.seconds(30)
        var configuration = Configuration("repair", busyMode: .timeout(busyMax / .seconds(1)))
        configuration.prepareDatabase { database in
            try OpenFile.requireWritable(database, at: path)
            try beside.refuseForeign(toWrite: false)
            OpenFile.leaveWriteAheadLog(database, false)
        }
        let file = try Patience.whileLocked(upTo: busyMax) { try open(path, configuration) }
        defer { try? file.close() }
        return try file.writeWithoutTransaction { database in
            try SchemaMigrator(path: path).refuseUnreadable(database)
            try SchemaMigrator(path: path).refuseOlder(database)
            do {
                // Another user may have made one since.
                try beside.refuseForeign(toWrite: false)
            } catch {
                OpenFile.leaveWriteAheadLog(database, true)
                throw error
            }
            // On pages that are damaged a repair would do more harm.
            if let damage = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), damage != "ok" {
                throw PenstockError(
                    .corrupt,
                    "SQLite finds \(path) damaged: \(FileInspection.oneLine(damage)); restore it from a copy. Nothing was "
                        + "changed.")
            }
            var report = RepairReport(path: path, isDryRun: dryRun)
            try database.inTransaction(.immediate) {
                report.repairs = try Repairing.perform(database, now: now)
                return dryRun || report.repairs.isEmpty ? .rollback : .commit
            }
            report.repairs += FolderInspection(SharedFolder(existingBesideDatabaseAt: path)).repairs(dryRun: dryRun)
            return report
        }
    }
}

extension FolderInspection {
    /// Mends what can be; `dryRun`: only says what would be. What the system refuses, the next inspection still finds.
    fileprivate func repairs(dryRun: Bool) -> [Repair] {
        faults().filter(\.isMendable).compactMap { fault in
            if !dryRun, (try? mend(fault)) == nil { return nil }
            let isAnew = if case .damaged = fault.kind { true } else { false }
            return Repair(
                .wrongFolder, 1,
                "\(fault.path) was \(isAnew ? "made anew" : "given the database's owner and mode").")
        }
    }
}
