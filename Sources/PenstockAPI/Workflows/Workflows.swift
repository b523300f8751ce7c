import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/workflows`: messages that wait for each other. A workflow goes through several queues, and so is no one queue's.
struct Workflows: Sendable {
    let store: PenstockStore
    let time: any TimeSource

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("workflows", use: start)
        v1.get("workflows", use: list)
        v1.get("workflows/:workflow", use: show)
        v1.get("workflows/:workflow/tasks", use: tasks)
        v1.get("workflows/:workflow/tasks/:task", use: task)
        v1.post("workflows/:workflow/cancel", use: cancel)
    }

    /// Starts a workflow. One of that name that is there already is what was asked for, whatever its tasks are.
    @Sendable private func start(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["name", "queue"])
        try context.principal.require(.produce)
        let body = try await request.wholeBody(bytesMax: WorkflowFile.bytesMax)
        let written = try WorkflowFile(Array(body.readableBytesView))
        let name: WorkflowName? = try parameters.name("name")
        let queue: QueueName? = try parameters.name("queue")
        let workflow = NewWorkflow(
            try name ?? written.name.map { try WorkflowName($0) },
            tasks: try written.tasks.map { try $0.task(defaultQueue: queue) })
        try workflow.validate(now: time.now)
        for queue in Set(workflow.tasks.map(\.queue)) { try context.principal.require(.produce, queue) }
        let started = try await store.storage.start(workflow, durability: .powerLoss)
        try await Lookup(store: store).require(context.principal, toKnow: started)
        let receipt =
            started.isNew
            ? StartReceipt(new: workflow.tasks, started)
            : StartReceipt(of: try await store.tasks(of: started.name), started)
        return .json(
            .started(receipt.name, isNew: receipt.isNew, receipt.receipts), status: started.isNew ? .created : .ok)
    }

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["after", "preceding", "last", "limit"])
        try context.principal.require(.read, nil)
        let (end, limit) = try parameters.end()
        let workflows = try await store.storage.workflows(
            WorkflowQuery(
                after: try parameters.sequence("after")?.rawValue,
                preceding: try parameters.sequence("preceding")?.rawValue, end: end, limit: limit))
        let farthest = end == .last ? workflows.first : workflows.last
        return .page("workflows", workflows.map(\.json), next: farthest.map { .integer($0.id) })
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read, nil)
        return .json(try await store.workflow(try context.parameters.name("workflow")).json)
    }

    @Sendable private func tasks(_ request: Request, _ context: ServerContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: ["after", "limit"])
        try context.principal.require(.read, nil)
        let tasks = try await store.storage.tasks(
            TaskQuery(
                try context.parameters.workflow(), after: try parameters.sequence("after"),
                limit: try parameters.count("limit", in: Bounds.pageRange) ?? 100))
        return .page("tasks", tasks.map(\.json), next: tasks.last.map { .integer($0.sequence.rawValue) })
    }

    /// A task with what it gave.
    @Sendable private func task(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.read, nil)
        let (workflow, name) = (try context.parameters.workflow(), try TaskName(try context.parameters.name("task")))
        let query = TaskQuery(workflow, name: name, limit: 1, withResult: true)
        guard let task = try await store.storage.tasks(query).first, case .object(let members) = task.json else {
            throw PenstockError(.unknownTask, "The workflow '\(workflow)' has no task called '\(name)'.")
        }
        return .json(.object(members + [.result(task.result)]))
    }

    @Sendable private func cancel(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.operate, nil)
        let workflow = try context.parameters.workflow()
        return .json(.cancelled(workflow, try await store.storage.cancel(workflow)))
    }
}

extension Parameters {
    fileprivate func workflow() throws -> WorkflowName { try WorkflowName(try name("workflow")) }
}
