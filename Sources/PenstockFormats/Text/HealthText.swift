package import PenstockCore

extension HealthReport {
    /// A line for each subject that is as it should be, and one for each finding. Of what was not looked at there is none.
    package var lines: [String] {
        var lines: [String] = []
        var rest = findings
        for subject in subjects {
            let found = findings.filter { subject.kinds.contains($0.kind) }
            rest.removeAll { subject.kinds.contains($0.kind) }
            if found.isEmpty, subject.kinds.isDisjoint(with: unknown) { lines.append("ok    \(subject.whenWell)") }
            lines += found.map(\.line)
        }
        // Kinds that a newer library finds and this list does not know.
        return lines + rest.map(\.line)
    }

    private var unknown: Set<HealthFinding.Kind> {
        var unknown = unchecked
        if schemaVersion == nil { unknown.formUnion([.olderSchema, .newerSchema]) }
        if server == nil, file.walPages == nil { unknown.insert(.walHeld) }
        return unknown
    }

    private typealias Subject = (kinds: Set<HealthFinding.Kind>, whenWell: String)

    private var subjects: [Subject] {
        let version = schemaVersion.map { "\($0)" } ?? "?"
        if let server { return subjects(of: server, version) }
        let used = file.pageCount - file.freePageCount
        let anywhere: [Subject] = [
            ([.damaged, .unreadable], "the file's structure is sound"),
            ([.olderSchema, .newerSchema], "schema version \(version) is this program's"),
            (
                [.journalMode, .keepsPages],
                "\(used) pages of \(file.pageBytes) bytes are used, \(file.freePageCount) are free and can be given back"
            ),
            ([.wrongFolder, .otherNames], "the folder beside the file is in order"),
            ([.walHeld], "the write-ahead log has \(file.walBytes) bytes, and no reader holds it"),
        ]
        // Of another schema the inspection knows no more than this, and so nothing else is well.
        guard schemaVersion == schemaVersionKnown else { return anywhere }
        return anywhere + [
            ([.wrongSchema], "every table, index, view and trigger is as it was made"),
            ([.wrongWorkers], "every worker's row names its own file"),
            ([.wrongNumbers], "every number is one that can be"),
            ([.wrongHeaders], "all headers can be read"),
            ([.wrongTimes], "every time is one that can be"),
        ] + Self.ofRows
    }

    private func subjects(of server: ServerHealth, _ version: String) -> [Subject] {
        let anywhere: [Subject] = [
            ([.unreadable], "PostgreSQL \(server.version) answers, and the tables have \(server.bytes) bytes"),
            ([.olderSchema, .newerSchema], "schema version \(version) is this program's"),
            ([.pooled], "each connection is a session of its own"),
            ([.unsafeServer], "what the server says is on its disk is there"),
            ([.asynchronousStandby], "powerLoss is what the standbys make of it"),
            ([.noVacuum], "autovacuum is on"),
            ([.vacuumHeld], "nothing holds vacuum back"),
            ([.walHeld], "nothing has the server keep its write-ahead log"),
            ([.bloated], "no table has more dead rows than living ones"),
            ([.wrongClock], "the server's clock and this machine's agree"),
            ([.fewConnections], "\(server.connectionCount) of \(server.connectionsMax) connections are taken"),
            ([.writerHeld], "nobody sits on the right to write"),
            ([.unseenSessions], "the role sees what the sessions of others do"),
        ]
        guard schemaVersion == schemaVersionKnown else { return anywhere }
        let here: [Subject] = [
            ([.wrongSchema], "every function looks for the tables where they are"),
            ([.missingRights], "the role may do what a worker does"),
            ([.counterBehind], "no new row gets a number that one has"),
        ]
        return anywhere + here + Self.ofRows
    }

    /// What a store is inspected for wherever it lies.
    private static let ofRows: [Subject] = [
        ([.expiredLeases], "no lease has ended unseen"),
        ([.deadWorkers], "no dead worker holds messages"),
        ([.stuckWorkers], "no worker is stuck"),
        ([.wrongDepths], "the queues count what is there"),
        ([.misplaced], "every message is in its place"),
        ([.wrongKeys], "every unique key is held by its message"),
        ([.wrongPermits], "every permit of a group is its message's"),
        ([.wrongExpiry], "every message expires when it says"),
        ([.wrongSequence], "no sequence number is given twice"),
        ([.strayCursor], "every cursor is in its log"),
        ([.straySchedule], "every schedule has a queue"),
        ([.wrongSchedule], "every schedule says what one may say"),
        ([.storeMoved], "the queues are here, and not another store's"),
        ([.copyUnfinished], "no queue waits for the rest of a copy"),
        ([.deletionUnfinished], "no deletion is unfinished"),
        ([.quarantined], "no row was set aside"),
    ]
}

extension RepairReport {
    package var lines: [String] {
        if repairs.isEmpty { return ["ok    there is nothing to repair"] }
        return repairs.map { (isDryRun ? "would be repaired  " : "repaired  ") + Escape.text($0.message) }
    }

    /// What was done, as a sentence; `nil` when nothing was.
    package var sentence: String? {
        isDryRun || repairs.isEmpty ? nil : "\(Escape.text(path)) was repaired."
    }
}

extension HealthFinding {
    fileprivate var line: String {
        let word =
            switch severity {
            case .error: "fail"
            case .warning: "warn"
            case .note: "note"
            }
        let place = queue.map { "queue \(Escape.text($0.text)): " } ?? ""
        return "\(word)  \(place)\(Escape.text(message))"
    }
}
