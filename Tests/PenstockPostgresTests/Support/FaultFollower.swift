import PenstockCore
import PenstockSQL
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockPostgres

/// Reads the log while servers are harmed, from its beginning, and keeps its place in a cursor of the store's or by itself.
final class FaultFollower: Sendable {
    private struct State {
        var read: [(sequence: Int64, payload: String)] = []
        var isOver = false
        var slowestCall = Duration.zero
        var failureCount = 0
    }

    private let store: PostgresStore
    private let queue: QueueName
    private let state = Mutex(State())

    init(_ url: String, _ queue: QueueName, access: StoreAccess = .readWrite) async throws {
        var options = PostgresStore.Options(access: access)
        options.busyMax = .seconds(8)
        store = try await PostgresStore.open(url: url, options: options)
        self.queue = queue
    }

    /// Reads until it is told to end, and then as far as the log goes.
    func run() async {
        var place = SequenceNumber(0)
        while true {
            let isOver = state.withLock { $0.isOver }
            let start = ContinuousClock.now
            do {
                let page = try await store.log(LogQuery(queue: queue, .after(place), limit: 500))
                let read = page.records.map { ($0.sequence.rawValue, String(decoding: $0.payload, as: UTF8.self)) }
                state.withLock { $0.read += read }
                place = page.records.last?.sequence ?? place
                if isOver, page.records.isEmpty { break }
            } catch {
                state.withLock { $0.failureCount += 1 }
            }
            let time = ContinuousClock.now - start
            state.withLock { $0.slowestCall = max($0.slowestCall, time) }
            await Task.yield()
        }
        try? await store.close()
    }

    /// What was accepted before is read before it ends.
    func end() { state.withLock { $0.isOver = true } }

    /// Holds what was read against what is there: in order, nothing twice, and nothing missed. What a server has lost may have been read.
    ///
    /// - Parameter found: the log, by number.
    func check(_ found: [Int64: String], _ name: String, _ comment: Comment) {
        let state = state.withLock { $0 }
        let isInOrder = zip(state.read, state.read.dropFirst()).allSatisfy { $0.sequence < $1.sequence }
        #expect(isInOrder, "\(name) read out of order \(comment)")
        let read = Dictionary(state.read.map { ($0.sequence, $0.payload) }) { first, _ in first }
        let missed = found.filter { read[$0.key] != $0.value }.keys.sorted()
        #expect(missed.isEmpty, "\(name) missed \(missed.prefix(10)) of \(found.count) \(comment)")
        #expect(state.slowestCall < .seconds(40), "\(name) waited \(state.slowestCall) \(comment)")
        print("    \(name): \(read.count) read, \(state.failureCount) calls failed, slowest call \(state.slowestCall)")
    }
}
