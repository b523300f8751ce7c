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
        try inserts.run(rows, connection) { statement, row, index in
            let columns = row.need.columns
            statement.bind(row.parent, at: index)
            statement.bind(row.child, at: index + 1)
            statement.bind(columns.need, at: index + 2)
            statement.bind(columns.whenDead, at: index + 3)
            statement.bind(DependencyState.open.rawValue, at: index + 4)
        }
    }

    // Rows for numbers that were not given yet are some that somebody has made by hand.
    private static let inserts = BulkInsert(
        into: "penstock_dependency", ["parent", "child", "need", "when_dead", "state"], replacing: true)
}

extension Dependency.Need {
    /// What the columns `need` and `when_dead` say.
    init(stored need: String?, whenDead: String?) {
        self =
            need == "ended" ? .ended : .done(whenDead: whenDead.flatMap(Dependency.WhenDead.init) ?? .cancel)
    }

    /// The columns `need` and `when_dead`.
    var columns: (need: String, whenDead: String) {
        switch self {
        case .ended: ("ended", Dependency.WhenDead.cancel.rawValue)
        case .done(let whenDead): ("done", whenDead.rawValue)
        }
    }
}
