public import PenstockCore
import PenstockWire

/// Queues, and what belongs to them.
extension RemoteStore {
    /// Makes, changes or removes a queue.
    public func configure(_ queue: QueueName, _ change: QueueChange) async throws {
        _ = try await answer(to: RemoteCalls.configure.request(queue, change))
    }

    /// Makes, changes or removes a shared limit.
    public func setLimit(_ name: LimitName, to count: Int?) async throws {
        _ = try await answer(to: RemoteCalls.setLimit.request(name, count))
    }

    /// Places, moves or removes a cursor.
    @discardableResult
    public func moveCursor(
        _ cursor: CursorName, of queue: QueueName, _ move: CursorMove
    ) async throws -> CursorRecord? { try await answer(to: RemoteCalls.moveCursor.request(cursor, queue, move)) }

    /// Makes, changes, runs or removes a schedule.
    @discardableResult
    public func schedule(_ name: ScheduleName, _ change: ScheduleChange) async throws -> ScheduleRecord? {
        do {
            return try await answer(to: RemoteCalls.schedule.request(name, change))
        } catch let error as PenstockError where error.code == .unknownSchedule {
            // A server lets a token for some queues replace only what it has seen.
            guard case .put(let schedule, replacing: true) = change else { throw error }
            return try await answer(to: RemoteCalls.schedule.request(name, .put(schedule, replacing: false)))
        }
    }

    /// Enqueues what schedules have to enqueue now.
    public func fire() async throws -> Timestamp? {
        try await answer(to: RemoteCalls.fire.request()) { $0.map(clocks.here) }
    }
}
