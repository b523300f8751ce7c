import PenstockCore

/// Writing down which task waits for which.
enum DependencyRows {
    /// That message `child` waits for message `parent`.
    struct New {
        var parent: Int64
        var child: Int64
        var need: Dependency.Need
    }

    static func insert(_ rows: [New], _ connection: Connection) throws {
        do {
            try connection.attempt { try write(rows, by: inserts, connection) }
        } catch  where error.isContradiction {
            // Somebody has made rows by hand for numbers that were not given yet.
            try write(rows, by: replacements, connection)
        }
    }

    private static func write(
        _ rows: [New], by inserts: [(need: Dependency.Need, rows: BulkInsert)], _ connection: Connection
    ) throws {
        for insert in inserts {
            try insert.rows.run(rows.filter { $0.need == insert.need }, connection) { statement, row, index in
                statement.bind(row.parent, at: index)
                statement.bind(row.child, at: index + 1)
            }
        }
    }

    private static let inserts = inserts(replacing: false)
    private static let replacements = inserts(replacing: true)

    /// One for each need.
    private static func inserts(replacing: Bool) -> [(need: Dependency.Need, rows: BulkInsert)] {
        let needs: [Dependency.Need] = [.done(whenDead: .cancel), .done(whenDead: .hold), .ended]
        return needs.map { need in
            let (name, whenDead) = need.columns
            return (
                need,
                BulkInsert(
                    into: "penstock_dependency", ["parent", "child"],
                    texts: ["need": name, "when_dead": whenDead, "state": DependencyState.open.rawValue],
                    replacing: replacing)
            )
        }
    }
}

extension Dependency.Need {
    init(stored need: String?, whenDead: String?) {
        self =
            need == "ended" ? .ended : .done(whenDead: whenDead.flatMap(Dependency.WhenDead.init) ?? .cancel)
    }

    var columns: (need: String, whenDead: String) {
        switch self {
        case .ended: ("ended", Dependency.WhenDead.cancel.rawValue)
        case .done(let whenDead): ("done", whenDead.rawValue)
        }
    }
}
