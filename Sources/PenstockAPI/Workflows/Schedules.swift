import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/schedules`: messages that are enqueued again and again. A schedule is its queue's.
struct Schedules: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.get("schedules", use: list)
        v1.get("schedules/:schedule", use: show)
        v1.put("schedules/:schedule", use: put)
        v1.post("schedules/:schedule/pause") { try await change($0, $1, .pause) }
        v1.post("schedules/:schedule/resume") { try await change($0, $1, .resume) }
        v1.post("schedules/:schedule/run") { try await change($0, $1, .run) }
        v1.act("schedules/:schedule", method: .delete, use: remove)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["after", "limit"])
        let principal = context.principal
        try principal.require(.read)
        let found = try await store.storage.schedules(
            after: try parameters.name("after"),
            limit: try parameters.count("limit", in: Bounds.pageRange) ?? 100
        ) { principal.may(.read, $0.schedule.queue) }
        return .page(
            "schedules", found.records.map(\.jsonWithoutPayload), next: found.records.last.map { .string($0.name.text) }
        )
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        .json(try await known(request, context, .read).json)
    }

    /// Makes a schedule, or gives it another shape; where it has this one already, nothing changes.
    @Sendable private func put(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        let name = try ScheduleName(try context.parameters.name("schedule"))
        try context.principal.require(.operate)
        // A schedule as large as its payload may be, which base64 makes larger.
        let (entry, written) = try await request.jsonAsWritten(
            ScheduleEntry.self, as: "The schedule", bytesMax: Bounds.batchLineBytesMax)
        let schedule = try entry.schedule(written)
        try context.principal.require(.operate, schedule.queue)
        let before = try await found(name)
        if let before { try context.principal.require(.operate, before.schedule.queue, ofSchedule: name) }
        let record: ScheduleRecord?
        do {
            // Only what was looked at is replaced: another's may have come since.
            record = try await store.storage.schedule(name, .put(schedule, replacing: before != nil))
        } catch let error as PenstockError where error.code == .scheduleExists {
            throw Problem(
                .conflict, code: error.code.rawValue, "A schedule of that name has just been made; ask again.")
        }
        guard let record else { throw PenstockError.unknown(name) }
        return .json(record.json, status: before == nil ? .created : .ok)
    }

    private func change(
        _ request: Request, _ context: ServerContext, _ change: ScheduleChange
    ) async throws -> Response {
        let name = try await known(request, context, .operate).name
        guard let record = try await store.storage.schedule(name, change) else { throw PenstockError.unknown(name) }
        return .json(record.json)
    }

    @Sendable private func remove(_ request: Request, _ context: ServerContext) async throws {
        let name = try await known(request, context, .operate).name
        try await store.storage.schedule(name, .remove)
    }

    /// The schedule that the path names, if the caller may do that with its queue.
    private func known(
        _ request: Request, _ context: ServerContext, _ scope: Scope
    ) async throws -> ScheduleRecord {
        try request.refuseParameters()
        try context.principal.require(scope)
        let name = try ScheduleName(try context.parameters.name("schedule"))
        guard let record = try await found(name) else { throw PenstockError.unknown(name) }
        try context.principal.require(scope, record.schedule.queue, ofSchedule: name)
        return record
    }

    private func found(_ name: ScheduleName) async throws -> ScheduleRecord? {
        do {
            return try await store.storage.schedules(name).first
        } catch let error as PenstockError where error.code == .unknownSchedule {
            return nil
        }
    }
}
