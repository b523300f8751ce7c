import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/messages/{sequence}/events/{event}`, and the same of a workflow: something that happened outside. The body is what the
/// event brings.
struct Events: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("messages/:sequence/events/:event", use: emitToMessage)
        v1.post("workflows/:workflow/events/:event", use: emitToWorkflow)
    }

    @Sendable private func emitToMessage(_ request: Request, _ context: ServerContext) async throws -> Response {
        let sequence = try context.parameters.sequence()
        _ = try await Lookup(store: store).message(sequence, context.principal, .produce)
        return try await emit(request, context, to: .message(sequence))
    }

    @Sendable private func emitToWorkflow(_ request: Request, _ context: ServerContext) async throws -> Response {
        try context.principal.require(.produce, nil)
        return try await emit(request, context, to: .workflow(WorkflowName(try context.parameters.name("workflow"))))
    }

    private func emit(
        _ request: Request, _ context: ServerContext, to target: EventTarget
    ) async throws -> Response {
        try request.refuseParameters()
        let name = try EventName(try context.parameters.name("event"))
        let body = try await request.wholeBody(bytesMax: Limits.resultBytesMax)
        let isFirst = try await store.storage.emit(
            NewEvent(name, payload: Array(body.readableBytesView)), to: target, durability: .powerLoss)
        return .json(.object(["event": .string(name.text), "isFirst": .bool(isFirst)]))
    }
}
