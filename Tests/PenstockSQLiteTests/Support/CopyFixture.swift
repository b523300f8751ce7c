import PenstockCore
import PenstockTestKit

@testable import PenstockSQL
@testable import PenstockSQLite

/// Two files, of which the queues of one move into the other.
protocol CopyFixture {
    var time: ManualTime { get }
    var folder: TemporaryFolder { get }
}

extension CopyFixture {
    var source: String { folder.file("source.db") }
    var target: String { folder.file("target.db") }
    var move: StoreCopy { StoreCopy(source: "source.db", target: "target.db") }

    func open(_ path: String, afterStep: (@Sendable () async throws -> Void)? = nil) async throws -> SQLiteStore {
        var options = SQLiteStore.Options(time: time)
        options.afterStep = afterStep
        return try await SQLiteStore.open(path: path, options: options)
    }

    func findings(_ path: String) async throws -> [HealthFinding.Kind] {
        try await SQLiteStore.inspectHealth(path: path, time: time).findings.filter { $0.severity != .note }.map(\.kind)
    }
}
