import PenstockCore

/// The turns of a queue that is shared fairly, or was.
struct MemoryFair: Sendable {
    /// The messages of one priority.
    private struct Lane: Sendable {
        /// The turn that was claimed last.
        var current: Int64 = 1
        var shares: [KeyBytes: FairShare] = [:]
    }

    private var lanes: [Int: Lane] = [:]
    /// How much the groups weigh that do not weigh 1.
    private(set) var weights: [KeyBytes: Int] = [:]

    /// Gives a message its turn that becomes ready.
    mutating func take(_ group: KeyBytes, _ priority: Int, again: Bool) -> Int64 {
        let current = lanes[priority, default: Lane()].current
        return change(group, priority) { $0.take(again: again, notBefore: current) }
    }

    /// Takes the turn of a message back that was ready and has not started.
    mutating func giveBack(_ group: KeyBytes, _ priority: Int, again: Bool) {
        change(group, priority) { $0.giveBack(again: again) }
    }

    private mutating func change<T>(_ group: KeyBytes, _ priority: Int, _ body: (inout FairShare) -> T) -> T {
        var share = lanes[priority]?.shares[group] ?? FairShare()
        share.weight = Int64(weights[group] ?? 1)
        defer { lanes[priority, default: Lane()].shares[group] = share }
        return body(&share)
    }

    /// The turn that was claimed last.
    func current(_ priority: Int) -> Int64 { lanes[priority]?.current ?? 1 }

    /// Notes that messages were claimed up to a turn.
    ///
    /// - Parameter isLast: whether none of that priority is ready any more: what any group has had is forgotten then.
    mutating func claimed(_ turn: Int64, _ priority: Int, isLast: Bool) {
        var lane = lanes[priority] ?? Lane()
        lane.current = max(lane.current, turn, isLast ? lane.shares.values.map(\.next).max() ?? 0 : 0)
        lane.shares = lane.shares.filter { $0.value.next > lane.current }
        lanes[priority] = lane
    }

    mutating func setWeight(_ weight: Int, of key: KeyBytes) {
        weights[key] = weight == 1 ? nil : weight
    }
}

extension MemoryState {
    mutating func turn(of message: MemoryMessage) -> Int64 {
        guard let queue = queues[message.queue], let fair = queue.fair else { return 0 }
        let priority = message.new.priority
        if queue.policy.isFair {
            return queues[message.queue]?.fair?.take(
                KeyBytes(message.new.group ?? ""), priority, again: message.attempt > message.forgiven) ?? 0
        }
        // It comes behind all that have a turn from when the queue was shared.
        let highest = queue.line.ready.elements.last { $0.priority == priority }?.turn ?? 1
        return max(fair.current(priority), highest)
    }

    /// Takes the turn of a message back that was ready and has not started.
    mutating func giveTurnBack(_ message: MemoryMessage) {
        guard queues[message.queue]?.policy.isFair == true else { return }
        queues[message.queue]?.fair?.giveBack(
            KeyBytes(message.new.group ?? ""), message.new.priority, again: message.attempt > message.forgiven)
    }

    /// Notes the turns of messages that are about to be claimed: the first of those that are ready.
    mutating func noteTurns(_ claimed: ArraySlice<MemoryLine.ReadyPlace>, of name: QueueName) {
        let ready = queues[name]?.line.ready.elements ?? []
        for priority in Set(claimed.map(\.priority)).sorted(by: >) {
            let turn = claimed.last { $0.priority == priority }?.turn ?? 0
            let isLast = ready.count { $0.priority == priority } == claimed.count { $0.priority == priority }
            queues[name]?.fair?.claimed(turn, priority, isLast: isLast)
        }
    }
}
