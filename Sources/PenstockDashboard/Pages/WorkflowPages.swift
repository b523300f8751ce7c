import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/workflows`: tasks that wait for each other. A workflow may have tasks in any queue, so these pages are for visitors who may look
/// at the whole store.
struct WorkflowPages {
    private static let rowCountMax = 100

    func add(to routes: Routes) {
        routes.get("/workflows", list)
        routes.get("/workflows/:workflow", show)
        routes.post("/workflows/:workflow/cancel", cancel)
    }

    @Sendable private func list(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, nil)
        let place = try PagePlace(try visit.query(PagePlace.names))
        // One more than is shown tells whether there are others.
        let found = try await visit.site.store.storage.workflows(
            WorkflowQuery(
                after: place.after, preceding: place.preceding, end: place.end, limit: Self.rowCountMax + 1))
        let records = place.shown(of: found, Self.rowCountMax)
        var fields: Fields = [
            "rows": records.reversed().map { row($0, visit.now) }, "hasRows": !records.isEmpty,
        ]
        fields.merge(
            place.links(records.map(\.id), isMore: found.count > records.count) { Link.page("/workflows", $0) }
        ) { $1 }
        return visit.page(
            "workflows", "Workflows", in: .workflows, following: place.isNewest ? .all : .still, fields)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, nil)
        let query = try visit.query(["after"])
        let record = try await Self.record(visit)
        let after = try query.sequence("after")
        let limit = WorkflowDrawing.taskCountMax
        let tasks = try await visit.site.store.storage.tasks(TaskQuery(record.name, after: after, limit: limit + 1))
        var fields = row(record, visit.now)
        let shown = Array(tasks.prefix(limit))
        fields["tasks"] = shown.map { task -> Fields in
            var fields: Fields = [
                "name": task.name.text, "sequence": "\(task.sequence)", "link": Link.message(task.sequence),
                "queue": task.queue.text, "queueLink": Link.queue(task.queue), "state": Shown.state(task.state),
                "after": Self.after(task.dependencies.map { $0.dependency.task.text }),
            ]
            if let reason = task.reason { fields["reason"] = reason.rawValue }
            return fields
        }
        // A drawing of a part would leave out what tasks depend on.
        let edgeCount = tasks.reduce(0) { $0 + $1.dependencies.count }
        if after == nil, tasks.count <= limit, edgeCount <= WorkflowDrawing.edgeCountMax {
            fields["drawing"] = WorkflowDrawing(tasks: tasks).svg
        }
        if tasks.count > limit, let last = shown.last {
            fields["more"] = Link.page(Link.workflow(record.name), ["after": "\(last.sequence)"])
        }
        if visit.mayAct(.operate, nil), record.state == .running || record.state == .held {
            fields["cancel"] = "\(Link.workflow(record.name))/cancel"
        }
        return visit.page("workflow", "Workflow \(record.name)", in: .workflows, following: .all, fields)
    }

    /// The names of tasks that one depends on, as far as anybody reads them: there may be thousands.
    private static func after(_ names: [String]) -> String {
        let shown = names.prefix(20).joined(separator: ", ")
        return names.count > 20 ? "\(shown) and \(Shown.count(names.count - 20)) more" : shown
    }

    private func row(_ record: WorkflowRecord, _ now: Timestamp) -> Fields {
        [
            "name": record.name.text, "link": Link.workflow(record.name), "state": record.state.rawValue,
            "started": Shown.time(record.startedAt, now),
            "counts": MessageState.allCases.compactMap { state -> Fields? in
                guard let count = record.counts[state], count > 0 else { return nil }
                return ["state": Shown.state(state), "count": Shown.count(count)]
            },
        ]
    }

    private static func record(_ visit: Visit) async throws -> WorkflowRecord {
        let name = try WorkflowName(visit.context.parameters.name("workflow"))
        guard let record = try await visit.site.store.storage.workflows(WorkflowQuery(name: name)).first else {
            throw PenstockError.unknown(name)
        }
        return record
    }

    @Sendable private func cancel(_ visit: Visit) async throws -> Response {
        try visit.principal.require(.read, nil)
        let record = try await Self.record(visit)
        let said = try await visit.act("cancel workflow", on: record.name.text, queue: nil, .operate) {
            let count = try await visit.site.store.storage.cancel(record.name)
            return "\(CountText.format(count, "task")) had not ended."
        }
        return visit.redirect(to: Link.workflow(record.name), saying: said)
    }
}
