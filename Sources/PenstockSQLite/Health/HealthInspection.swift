import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockSQL

/// One look at a file, part by part. A part that cannot be read becomes a finding, and the next one is looked at.
struct HealthInspection {
    let path: String
    let stuckAfter: Duration
    let time: any TimeSource

    func report() throws -> HealthReport {
        while true {
            // A user who may not write the file, or make another one beside it, reads it as one that does not change, while no program has it
            // open: SQLite would make a write-ahead log beside it, of this user's, and the file's owner could write no more. A user who
            // comes by a name by which no program works the file reads it in the same way.
            let looked = try FileStillness.look(path)
            let mayWrite = access(path, W_OK) == 0 && access(SharedFolder.parent(of: path), W_OK) == 0
            let stillness = mayWrite && looked?.isByOtherName != true ? nil : looked
            let report: HealthReport
            do {
                report = try self.report(isStill: stillness != nil)
            } catch  where stillness == nil && StorageErrors.isFullDisk(error, path) {
                // SQLite needs room beside the file, and the file itself can be read.
                if let report = try reportOnFullDisk(error) { return report }
                continue
            }
            // What was read of a file that changed meanwhile may be of two moments.
            if try stillness == nil || FileStillness.look(path) == stillness { return report }
        }
    }

    /// Reads the file as one that does not change; `nil`: it has changed meanwhile.
    ///
    /// - Throws: `error` where some program may be writing.
    private func reportOnFullDisk(_ error: any Error) throws -> HealthReport? {
        guard let stillness = FileStillness(path, besideEmptyLog: true) else { throw error }
        let report = try report(isStill: true)
        return FileStillness(path, besideEmptyLog: true) == stillness ? report : nil
    }

    private func report(isStill: Bool) throws -> HealthReport {
        var report = HealthReport(path: path, schemaVersionKnown: SchemaMigrator.newest)
        let foreign = FolderInspection(SharedFolder(existingBesideDatabaseAt: path)).foreignCompanions()
        guard foreign.isEmpty else {
            // What SQLite would read there may be another user's, so there is no more to say of the file.
            report.findings = foreign.map(HealthFinding.init)
            report.unchecked = [.damaged, .unreadable, .journalMode, .keepsPages]
            return report
        }
        do {
            try inspect(isStill: isStill, &report)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT && report.findings.isEmpty {
            // Damage so near the root that nothing can be read at all.
            report.findings.append(.unreadable("anything", error))
            report.unchecked.formUnion([.journalMode, .keepsPages, .wrongFolder])
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            report.add(
                .unreadable, .error,
                "A program died in the middle of a change to the file, and only one that writes takes that back; run "
                    + "`penstock migrate`, and look again.")
            report.unchecked.formUnion([.journalMode, .keepsPages, .wrongFolder])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            // The end of the transaction says again what a part of it has met.
        }
        report.sort()
        return report
    }

    private func inspect(isStill: Bool, _ report: inout HealthReport) throws {
        let name = isStill ? FileStillness.immutable(path) : path
        let folder = SharedFolder(existingBesideDatabaseAt: path)
        // The last program to close the file takes the log away. This one makes a log, and no folder.
        let isOpenWithoutFolder =
            FileIdentity.status(of: path + "-wal") != nil && FileIdentity.status(of: folder.path) == nil
        let file = try DatabaseQueue(path: name, configuration: Self.configuration(readonly: true))
        try file.read { database in
            report.schemaVersion = try readSchemaVersion(database, &report)
            try part("the file's pages", [.journalMode, .keepsPages], &report) {
                try FileInspection.inspect(database, path, isStill: isStill, &$0)
            }
            report.findings += FolderInspection(folder).faults().map(HealthFinding.init)
            if let refusal = OtherNames.refusal(path) {
                report.add(.otherNames, .note, "\(refusal.message) Until then it can only be read.")
            }
            guard report.schemaVersion == report.schemaVersionKnown else { return }
            try part("the schema's parts", [.wrongSchema], &report) { try SchemaInspection.inspect(database, &$0) }
            let connection = SQLiteConnection(database)
            try part(
                "workers and leases", [.deadWorkers, .stuckWorkers, .expiredLeases, .wrongWorkers], &report
            ) {
                try WorkerInspection(stuckAfter: stuckAfter, time: time, locks: FolderLocks(folder: folder)).inspect(
                    connection, &$0)
                $0.add(
                    .wrongWorkers, .error,
                    "COUNT {row of penstock_worker names|rows of penstock_worker name} a file that no worker makes; `penstock doctor "
                        + "--repair` removes {it|them}.",
                    count: try WorkerRow.strays(unless: WorkerLock.isName, connection).count)
                let count = try isOpenWithoutFolder ? WorkerRow.all(connection).filter { !$0.isRemote }.count : 0
                if count > 0 {
                    let lost = CountedText.sentence(
                        "the {lock|locks} of COUNT {worker, which counts|workers, which count}", count)
                    $0.add(
                        .wrongFolder, .warning,
                        "\(folder.path) is missing, and with it \(lost) as dead; stop all that use the database, and start them again."
                    )
                }
            }
            for one in RowInspection.ofLine() {
                try part(one.name, one.kinds, &report) { try one.inspect(connection, &$0) }
            }
            try part("numbers", [.wrongNumbers, .wrongSequence], &report) {
                try NumberInspection.inspect(database, &$0)
            }
            try part("headers and times", [.wrongHeaders, .wrongTimes], &report) {
                try ContentInspection.inspect(database, at: time.now, &$0)
            }
            for one in RowInspection.besides {
                try part(one.name, one.kinds, &report) { try one.inspect(connection, &$0) }
            }
        }
        // Closed before the next one, which as the last of all to close leaves no companions behind.
        try file.close()
        // A damaged file stays as it is, its log included: somebody may want to look at it, or to save what can be saved.
        if !isStill, report.schemaVersion ?? .max <= report.schemaVersionKnown,
            report.findings.allSatisfy({ $0.severity != .error }),
            FolderInspection(folder).foreignCompanions().isEmpty
        {
            FileInspection.inspectWAL(path, &report)
        }
    }

    private func readSchemaVersion(_ database: Database, _ report: inout HealthReport) throws -> Int? {
        do {
            let version = try SchemaMigrator.version(of: database)
            if version == 0 { try OtherPrograms.refuseTables(in: database, path) }
            if version > report.schemaVersionKnown {
                report.add(
                    .newerSchema, .error,
                    "The file has schema version \(version), and this program knows up to "
                        + "\(report.schemaVersionKnown); use a newer penstock to look at the rest.")
            } else if version < report.schemaVersionKnown {
                report.add(
                    .olderSchema, .warning,
                    version == 0
                        ? "The file has none of Penstock's tables; `penstock migrate` makes them."
                        : "The file has schema version \(version) of \(report.schemaVersionKnown); `penstock "
                            + "migrate` brings it up to date.")
            }
            return version
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            report.findings.append(.unreadable("the schema", error))
            return nil
        } catch let error as PenstockError where error.code == .corrupt {
            report.add(.unreadable, .error, error.message)
            return nil
        }
    }

    /// Carries out one part, which looks for `kinds`. What SQLite reports on the way becomes a finding.
    private func part(
        _ name: String, _ kinds: Set<HealthFinding.Kind>, _ report: inout HealthReport,
        _ body: (inout HealthReport) throws -> Void
    ) throws {
        do {
            try body(&report)
        } catch let error as DatabaseError where error.resultCode != .SQLITE_NOTADB {
            report.findings.append(.unreadable(name, error))
            report.unchecked.formUnion(kinds)
        }
    }

    /// That of a connection which waits a little for a program that recovers the file.
    static func configuration(readonly: Bool) -> Configuration {
        Configuration("health", readonly: readonly, busyMode: .timeout(5))
    }
}

extension HealthFinding {
    /// What a fault of the folder beside the database is to people.
    fileprivate init(_ fault: FolderFault) {
        let path = fault.path
        switch fault.kind {
        case .foreign(let sentence):
            self.init(.wrongFolder, .error, sentence)
        case .wide:
            self.init(
                .wrongFolder, .warning,
                "\(path) can be used by users who cannot open the database; `penstock doctor --repair`, as its owner or root, "
                    + "gives it the database's mode.")
        case .narrow:
            self.init(
                .wrongFolder, .warning,
                "\(path) cannot be used by all who can open the database; `penstock doctor --repair`, as its owner or root, gives "
                    + "it the database's owner and mode.")
        case .damaged:
            self.init(
                .wrongFolder, .warning,
                "\(path) is damaged; `penstock doctor --repair` makes it anew, and programs that have the database open "
                    + "find it when they are started again.")
        case .otherLayout:
            self.init(
                .wrongFolder, .note,
                "\(path) is of another release of Penstock; remove it when no program of that runs.")
        }
    }

    static func unreadable(_ part: String, _ error: DatabaseError) -> HealthFinding {
        HealthFinding(
            .unreadable, .error, "What the file says of \(part) cannot be read: \(error.message ?? "no detail").")
    }
}
