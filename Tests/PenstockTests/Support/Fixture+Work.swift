import Penstock
import PenstockCore
import PenstockTestKit

extension Fixture {
    /// Works what waits in the queue now, with that handler.
    func drain<Element: Sendable>(
        _ queue: Queue<Element>, options: Worker<Element>.Options = .init(),
        _ handler: @escaping Worker<Element>.Handler
    ) async throws {
        var options = options
        options.drain = true
        try await Worker(queue, options: options, handler: handler).run()
    }

    /// Another process on the same data: a handle of its own, and a store of its own.
    func otherProcess() -> PenstockStore { PenstockStore(database.open(), options: .init(time: time)) }

    /// The test's own process dies.
    func crash() async throws { try await database.crash(base) }

    /// The code of the error that `body` throws.
    func code(_ body: () async throws -> Void) async -> PenstockError.Code? {
        await errorCode(body)
    }
}
