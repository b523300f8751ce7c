import PenstockCore

/// The turns of a queue that is shared fairly, or was.
struct MemoryFair: Sendable {
    /// The turn that was claimed last.
    private var current: Int64 = 1
    /// The highest that was given.
    private var last: Int64 = 1
    private(set) var shares: [KeyBytes: FairShare] = [:]

    /// Gives a message its turn.
    ///
    /// - Parameter isFair: whether the queue is shared still. If not, the message comes behind all that have a turn.
    mutating func give(to message: NewMessage, isFair: Bool) -> Int64 {
        guard isFair else { return last }
        let turn = shares[KeyBytes(message.group ?? ""), default: FairShare()].take(notBefore: current)
        last = max(last, turn)
        return turn
    }

    /// Notes that a message with that turn was claimed.
    mutating func claimed(_ turn: Int64) {
        current = max(current, turn)
        shares = shares.filter { $0.value.weight > 1 || $0.value.next > current }
    }

    mutating func setWeight(_ weight: Int, of key: KeyBytes) {
        shares[key, default: FairShare()].weight = Int64(weight)
    }

    func weight(of key: KeyBytes) -> Int {
        Int(shares[key]?.weight ?? 1)
    }
}

extension MemoryState {
    /// The turn of a message that is accepted.
    mutating func turn(of message: NewMessage, _ name: QueueName) -> Int64 {
        let isFair = queues[name]?.policy.isFair == true
        return queues[name]?.fair?.give(to: message, isFair: isFair) ?? 0
    }
}
