import PenstockClient
import PenstockCore
import PenstockHTTP
import PenstockWire

/// Calls by which messages come in line and are worked.
extension GuardedCalls {
    private static let message = NewMessage(payload: [9])

    mutating func addArrivals() {
        add(RemoteCalls.enqueue.id, "enqueue", [.produce]) {
            _ = try await $0.enqueue([Self.message], to: $1.other, durability: .processCrash)
        }
        add(RemoteCalls.append.id, "append", [.produce]) {
            _ = try await $0.append([Self.message], to: $1.other, unless: nil, durability: .processCrash)
        }
        add(RemoteCalls.perform.id, "perform, enqueue", [.produce]) {
            _ = try await $0.perform([.enqueue([Self.message], to: $1.other, durability: .processCrash)])
        }
        add(RemoteCalls.start.id, "start", [.produce]) {
            let workflow = NewWorkflow(tasks: [FurnishedStore.task(in: $1.other)])
            _ = try await $0.start(workflow, durability: .processCrash)
        }
        add(RemoteCalls.start.id, "start, in two queues", [.produce]) {
            let tasks = [FurnishedStore.task("a", in: $1.mail), FurnishedStore.task("b", in: $1.other)]
            _ = try await $0.start(NewWorkflow(tasks: tasks), durability: .processCrash)
        }
        add(RemoteCalls.emit.id, "emit to a message", [.produce]) {
            _ = try await $0.emit(NewEvent($1.event), to: .message($1.ready), durability: .processCrash)
        }
        add(RemoteCalls.emit.id, "emit to a workflow", [.produce], .wholeStore) {
            _ = try await $0.emit(NewEvent($1.event), to: .workflow($1.workflow), durability: .processCrash)
        }
    }

    mutating func addWork() {
        add(RemoteCalls.claim.id, "claim", [.consume]) {
            _ = try await $0.claim(ClaimRequest(queue: $1.other, limit: 1, lease: .seconds(30)))
        }
        add(RemoteCalls.perform.id, "perform, claim", [.consume]) {
            _ = try await $0.perform([.claim(ClaimRequest(queue: $1.other, limit: 1, lease: .seconds(30)))])
        }
        add(RemoteCalls.extend.id, "extend", [.consume]) {
            _ = try await $0.extend([LeaseExtension($1.lease, by: .seconds(7200))])
        }
        add(RemoteCalls.record.id, "record", [.consume]) {
            _ = try await $0.record(
                StepName(stored: "step"), result: [1], on: $1.lease, extendingBy: nil, durability: .processCrash)
        }
        add(RemoteCalls.reclaim.id, "reclaim", [.consume], .anyQueue) { store, _ in _ = try await store.reclaim() }
        add(RemoteCalls.fire.id, "fire", [.consume], .anyQueue) { store, _ in _ = try await store.fire() }
    }

    mutating func addVerdicts() {
        add(RemoteCalls.settle.id, "settle", [.consume]) {
            _ = try await $0.settle([Settlement($1.lease, .done)])
        }
        add(RemoteCalls.settle.id, "settle, with a draft", [.produce]) {
            let draft = Draft(Self.message, to: $1.other)
            _ = try await $0.settle([Settlement($1.ownLease, .done, drafts: [draft])])
        }
        add(RemoteCalls.settle.id, "settle, with tasks", [.produce]) {
            let added = AddedTasks([FurnishedStore.task(in: $1.other)])
            _ = try await $0.settle([Settlement($1.ownLease, .done, added: added)])
        }
        add(RemoteCalls.perform.id, "perform, settle", [.consume]) {
            _ = try await $0.perform([.settle([Settlement($1.lease, .done)])])
        }
        add(RemoteCalls.perform.id, "perform, settle with a draft", [.produce]) {
            let draft = Draft(Self.message, to: $1.other)
            _ = try await $0.perform([.settle([Settlement($1.ownLease, .done, drafts: [draft])])])
        }
    }

    mutating func addCommands() {
        add(RemoteCalls.apply.id, "apply to messages", [.operate]) {
            _ = try await $0.apply(.cancel, to: .sequences([$1.ready]))
        }
        add(RemoteCalls.apply.id, "apply to a queue", [.operate]) {
            _ = try await $0.apply(.cancel, to: .queue($1.other, states: [.ready]))
        }
        add(RemoteCalls.count.id, "count messages", [.operate]) {
            _ = try await $0.count(.sequences([$1.ready]), for: .cancel)
        }
        add(RemoteCalls.count.id, "count in a queue", [.operate]) {
            _ = try await $0.count(.queue($1.other, states: [.ready]), for: .cancel)
        }
        add(RemoteCalls.cancel.id, "cancel", [.operate], .wholeStore) { _ = try await $0.cancel($1.workflow) }
        add(RemoteCalls.prune.id, "prune as policies say", [.consume], .anyQueue) { store, _ in
            _ = try await store.prune(PruneRequest())
        }
        add(RemoteCalls.prune.id, "prune a queue", [.operate]) {
            _ = try await $0.prune(PruneRequest(queue: $1.other, retention: Retention(count: 0)))
        }
        add(RemoteCalls.prune.id, "prune all", [.operate], .wholeStore) { store, _ in
            _ = try await store.prune(PruneRequest(retention: Retention(count: 0)))
        }
    }
}
