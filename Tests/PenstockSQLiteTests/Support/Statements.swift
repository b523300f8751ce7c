import GRDB
import PenstockCore
import PenstockSQLite
import Synchronization

/// The statements that a store runs.
final class Statements: Sendable {
    private let all = Mutex<[String]>([])

    /// Opens a store whose statements are these.
    func store(at path: String) async throws -> SQLiteStore {
        var configuration = Configuration()
        configuration.prepareDatabase { [self] database in
            database.trace { event in
                if case .statement(let statement) = event { self.all.withLock { $0.append(statement.sql) } }
            }
        }
        return try await SQLiteStore.open(pool: DatabasePool(path: path, configuration: configuration))
    }

    /// Those that have been run since this was asked last.
    func take() -> [String] {
        all.withLock { all in
            defer { all = [] }
            return all
        }
    }
}
