internal import PenstockCore

/// What a store is to do for a buffer, in the order in which it befell, and how much of it makes one call.
///
/// The store carries out the operations of a call in their order, so the order is all that has to be kept. Neighbours
/// that give the same together as one by one become one operation, because an operation costs as much as a message.
struct PendingOperations<Value: Sendable>: Sendable {
    /// What is to be done.
    enum Operation: Sendable {
        /// Store a value that waits, or overflows.
        case keep(Value, bytes: Int)
        /// Store a value that downstream waits for, and claim it.
        case pass(Value, bytes: Int)
        /// Claim so many of what waits.
        case claim(Int)
    }

    /// One operation of a call.
    enum Step: Sendable {
        case enqueue([Value])
        case claim(limit: Int)
    }

    /// An operation of the call that is under way.
    enum Part: Sendable {
        case enqueue([Operation])
        case claim(Int)
    }

    /// How many values may wait.
    let size: Int
    /// Whether a value that finds no room waits for it.
    let waits: Bool
    /// How many messages wait in the store now.
    var stored = 0
    /// Whether a value found no room, and nothing has made any since.
    var isBlocked = false
    private var line: [Operation] = []
    /// The parts of the call that is under way, from the first one that is not answered.
    private var underWay: [Part] = []
    private var valueCount = 0
    private var bytes = 0

    init(size: Int, waits: Bool) {
        self.size = size
        self.waits = waits
    }

    /// Whether as many values are staged as may be.
    var isFull: Bool { valueCount >= Limits.stagedCountMax || bytes >= Limits.stagedBytesMax }

    /// How many messages wait once all operations are done, if the store does what is expected.
    var waitingInTheEnd: Int {
        var waiting = stored
        func enqueue(_ count: Int) { waiting = max(waiting, waits ? waiting + count : min(waiting + count, size)) }
        func claim(_ count: Int) { waiting = max(0, waiting - count) }
        for part in underWay {
            switch part {
            case .enqueue(let values): enqueue(values.count)
            case .claim(let count): claim(count)
            }
        }
        for operation in line where !operation.isPass {
            if operation.isClaim { claim(operation.claimCount) } else { enqueue(1) }
        }
        return waiting
    }

    mutating func append(_ operation: Operation) {
        if case .claim(let more) = operation, case .claim(let count)? = line.last {
            line[line.count - 1] = .claim(count + more)
        } else {
            line.append(operation)
            count([operation], 1)
        }
    }

    private mutating func count(_ operations: some Sequence<Operation>, _ sign: Int) {
        for operation in operations where operation.value != nil {
            valueCount += sign
            bytes += sign * operation.bytes
        }
    }

    /// Nobody is there to get what would be claimed.
    mutating func forgetClaims() {
        line.removeAll(where: \.isClaim)
    }

    /// Gives everything up.
    ///
    /// - Returns: how many values that were.
    mutating func forgetAll() -> Int {
        defer {
            (line, underWay) = ([], [])
            (valueCount, bytes) = (0, 0)
            isBlocked = false
        }
        return underWay.reduce(valueCount) { if case .enqueue(let values) = $1 { $0 + values.count } else { $0 } }
    }

    // MARK: A call

    /// The next call; empty when there is nothing to do. A claim at its end also asks for what is demanded `beside` it,
    /// since it is there.
    mutating func next(beside demand: Int) -> [Step] {
        isBlocked ? takeClaims() : take()
        var steps = underWay.map { part -> Step in
            switch part {
            case .enqueue(let operations): .enqueue(operations.compactMap(\.value))
            case .claim(let count): .claim(limit: min(count, Limits.batchCountMax))
            }
        }
        if line.isEmpty, case .claim(let count)? = underWay.last {
            steps[steps.count - 1] = .claim(limit: min(count.addingUpToMax(demand), Limits.batchCountMax))
        }
        return steps
    }

    /// Begins a call that claims what nobody knows to be there.
    mutating func look(for demand: Int) -> [Step] {
        underWay = [.claim(0)]
        return [.claim(limit: min(demand, Limits.batchCountMax))]
    }

    /// Takes up as much from the front of the line as one call may carry.
    private mutating func take() {
        var call = Call(size: size, stored: stored, waits: waits)
        var count = 0
        while count < line.count, call.add(line[count]) { count += 1 }
        self.count(line.prefix(count), -1)
        line.removeFirst(count)
        underWay = call.finished()
    }

    /// Claims make room, so they go before the values that wait for it.
    private mutating func takeClaims() {
        let claims = line.reduce(0) { if case .claim(let count) = $1 { $0 + count } else { $0 } }
        forgetClaims()
        underWay = claims > 0 ? [.claim(claims)] : []
    }

    // MARK: Answers

    /// The store took the first `accepted` values of the next enqueue, after which `net` more messages waited than before.
    ///
    /// - Returns: how many more wait than was to be expected, whether some found no room, and how many that were to go
    ///   straight through found none and are to wait.
    mutating func enqueued(accepted: Int, net: Int) -> (surplus: Int, hasOverflowed: Bool, heldBack: Int) {
        guard case .enqueue(let values)? = underWay.first else { return (0, false, 0) }
        underWay.removeFirst()
        let rest = values[accepted...]
        // Those that are claimed at once take no place together, but each needs one for itself.
        let isPassing = values.first?.isPass == true
        let expected = isPassing || waits ? values.count : min(values.count, max(0, size - stored))
        let hasOverflowed = net < expected || !rest.isEmpty
        stored += net
        // It is full all the same: of what others have stored.
        if hasOverflowed { stored = max(stored, size) }
        return (net - expected, hasOverflowed, holdBack(rest))
    }

    /// Puts back what found no room and what comes after it, and lets everything that arrived wait.
    private mutating func holdBack(_ rest: ArraySlice<Operation>) -> Int {
        if rest.isEmpty { return 0 }
        isBlocked = true
        // The claims of values that are held back are made when there is demand for them again.
        var unclaimed = rest.count(where: \.isPass)
        var undone: [Operation] = []
        for part in underWay {
            switch part {
            case .enqueue(let operations):
                undone += operations
                unclaimed += operations.count(where: \.isPass)
            case .claim(let count):
                let own = min(count, unclaimed)
                unclaimed -= own
                if count > own { undone.append(.claim(count - own)) }
            }
        }
        underWay = []
        count(rest + undone, 1)
        var heldBack = 0
        line = (rest + undone + line).map { operation in
            guard case .pass(let value, let bytes) = operation else { return operation }
            heldBack += 1
            return .keep(value, bytes: bytes)
        }
        return heldBack
    }

    /// The next claim gave so many messages.
    ///
    /// - Returns: how many are still wanted, and how many came that were not.
    mutating func claimed(_ count: Int) -> (unmet: Int, surplus: Int) {
        guard case .claim(let wanted)? = underWay.first else { return (0, count) }
        underWay.removeFirst()
        if count > 0 { isBlocked = false }
        stored = max(0, stored - count)
        return (max(0, wanted - count), max(0, count - wanted))
    }

    /// Makes so many of the values that were to go straight through wait instead, the last ones first.
    mutating func keepBack(_ count: Int) {
        var left = count
        for index in line.indices.reversed() where left > 0 {
            switch line[index] {
            case .pass(let value, let bytes):
                line[index] = .keep(value, bytes: bytes)
                left -= 1
            case .claim(let claims):
                line[index] = .claim(max(0, claims - left))
                left -= min(left, claims)
            case .keep:
                break
            }
        }
        line.removeAll { if case .claim(0) = $0 { true } else { false } }
    }
}

extension PendingOperations.Operation {
    var value: Value? {
        switch self {
        case .keep(let value, _), .pass(let value, _): value
        case .claim: nil
        }
    }

    var bytes: Int {
        switch self {
        case .keep(_, let bytes), .pass(_, let bytes): bytes
        case .claim: 0
        }
    }

    var isPass: Bool { value != nil && claimCount > 0 }

    var isClaim: Bool { value == nil }

    /// How many messages it claims.
    var claimCount: Int {
        switch self {
        case .keep: 0
        case .pass: 1
        case .claim(let count): count
        }
    }
}
