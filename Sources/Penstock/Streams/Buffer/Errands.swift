internal import PenstockCore

/// What a store is to do for a buffer, in the order in which it befell, and how many of these make one call.
///
/// Carried out one by one, a fast source would cost a transaction for each value and each demand. So as many as
/// possible go together, in two ways that give what one by one would:
/// - Claims first: they take what is stored already, and the values that arrive in between all find a place, or drop
///   each other only after the last claim.
/// - Values first: all of them find a place even before the claims have made room.
struct Errands<Value: Sendable>: Sendable {
    /// One errand.
    enum Errand: Sendable {
        /// Store a value that waits, or overflows.
        case keep(Value, bytes: Int)
        /// Store a value that downstream waits for, and claim it.
        case pass(Value, bytes: Int)
        /// Claim so many of what waits.
        case claim(Int)
    }

    /// One call of the store.
    enum Call {
        case enqueue([Value])
        case claim(limit: Int)
    }

    private enum Part {
        case enqueue([Errand])
        case claim(Int)
    }

    let size: Int
    /// Whether a value that finds no room waits for it.
    let waits: Bool
    /// How many messages wait in the store now.
    var stored = 0
    /// Whether a value found no room, and nothing has made any since.
    var isBlocked = false
    private var queue: [Errand] = []
    /// The second part of what was taken up last.
    private var second: Part?
    private var underWay: (values: [Errand], claims: Int, limit: Int) = ([], 0, 0)
    private var valueCount = 0
    private var bytes = 0

    init(size: Int, waits: Bool) {
        self.size = size
        self.waits = waits
    }

    /// Whether as many values are staged as may be.
    var isFull: Bool { valueCount >= Limits.stagedCountMax || bytes >= Limits.stagedBytesMax }

    var isEmpty: Bool { queue.isEmpty && second == nil }

    mutating func append(_ errand: Errand) {
        switch (errand, queue.last) {
        case (.claim(let more), .claim(let count)):
            queue[queue.count - 1] = .claim(count + more)
        case (.claim, _):
            queue.append(errand)
        case (.keep(_, let size), _), (.pass(_, let size), _):
            valueCount += 1
            bytes += size
            queue.append(errand)
        }
    }

    /// Nobody is there to get what would be claimed.
    mutating func forgetClaims() {
        queue.removeAll { if case .claim = $0 { true } else { false } }
    }

    /// Gives everything up.
    ///
    /// - Returns: how many values that were.
    mutating func forgetAll() -> Int {
        var count = valueCount + underWay.values.count
        if case .enqueue(let values) = second { count += values.count }
        queue = []
        second = nil
        underWay = ([], 0, 0)
        (valueCount, bytes) = (0, 0)
        isBlocked = false
        return count
    }

    // MARK: Taking up

    /// The next call. The last claim also asks for what is demanded `beside` it, since it is there.
    mutating func next(beside demand: Int) -> Call? {
        guard let part = second.take() ?? takeUp() else { return nil }
        switch part {
        case .enqueue(let errands):
            underWay = (errands, 0, 0)
            return .enqueue(errands.compactMap(\.value))
        case .claim(let count):
            // What is known to be there is for the errands that follow.
            let extra = isEmpty ? min(demand, Limits.batchCountMax) : 0
            let limit = min(count + extra, Limits.batchCountMax)
            underWay = ([], count, limit)
            return .claim(limit: limit)
        }
    }

    /// Begins a claim that nothing is known to be there for.
    mutating func look(for demand: Int) -> Int {
        underWay = ([], 0, min(demand, Limits.batchCountMax))
        return underWay.limit
    }

    private mutating func takeUp() -> Part? {
        if isBlocked { return takeUpClaims() }
        if queue.isEmpty { return nil }
        let (claimsFirst, valuesFirst) = (countClaimsFirst(), countValuesFirst())
        let taken = queue.prefix(max(claimsFirst, valuesFirst))
        queue.removeFirst(taken.count)
        var claims = 0
        var values: [Errand] = []
        for errand in taken {
            switch errand {
            case .claim(let count):
                claims += count
            case .pass(_, let size):
                claims += 1
                valueCount -= 1
                bytes -= size
                values.append(errand)
            case .keep(_, let size):
                valueCount -= 1
                bytes -= size
                values.append(errand)
            }
        }
        if values.isEmpty { return .claim(claims) }
        if claims == 0 { return .enqueue(values) }
        if claimsFirst >= valuesFirst {
            second = .enqueue(values)
            return .claim(claims)
        }
        second = .claim(claims)
        return .enqueue(values)
    }

    /// Claims make room, so they go before the values that wait for it.
    private mutating func takeUpClaims() -> Part? {
        let claims = queue.reduce(0) { if case .claim(let count) = $1 { $0 + count } else { $0 } }
        forgetClaims()
        return claims > 0 ? .claim(claims) : nil
    }

    private func countClaimsFirst() -> Int {
        var (count, values, bytes, claims) = (0, 0, 0, 0)
        var line = stored
        var hasOverflowed = false
        scan: for errand in queue {
            switch errand {
            case .keep(_, let size):
                values += 1
                bytes += size
                guard values == 1 || (values <= Limits.batchCountMax && bytes <= Limits.batchBytesMax) else {
                    break scan
                }
                if line >= self.size { hasOverflowed = !waits } else { line += 1 }
            case .claim(let more):
                guard !hasOverflowed, claims + more <= stored, claims + more <= Limits.batchCountMax else { break scan }
                claims += more
                line -= more
            case .pass:
                break scan
            }
            count += 1
        }
        return count
    }

    private func countValuesFirst() -> Int {
        var (count, values, bytes, claims) = (0, 0, 0, 0)
        scan: for errand in queue {
            switch errand {
            case .keep(_, let size), .pass(_, let size):
                values += 1
                bytes += size
                // One at least, so that it goes on whatever others have stored meanwhile.
                guard count == 0 || (stored + values <= self.size && bytes <= Limits.batchBytesMax) else { break scan }
                if case .pass = errand { claims += 1 }
            case .claim(let more):
                claims += more
            }
            guard count == 0 || max(values, claims) <= Limits.batchCountMax else { break scan }
            count += 1
        }
        return count
    }

    // MARK: Answers

    /// The store took the first `accepted` values, after which `net` more messages waited than before.
    ///
    /// - Returns: how many more wait than was to be expected, whether fewer found room, and how many that were to go
    ///   straight through found none and are to wait.
    mutating func enqueued(accepted: Int, net: Int) -> (surplus: Int, hasOverflowed: Bool, heldBack: Int) {
        let values = underWay.values
        underWay = ([], 0, 0)
        let rest = values[accepted...]
        var surplus = waits ? 0 : net - min(values.count, max(0, size - stored))
        let hasOverflowed = surplus < 0 || !rest.isEmpty
        stored += net
        if hasOverflowed, stored < size {
            // It is full all the same: of what others have stored.
            if !waits { surplus += size - stored }
            stored = size
        }
        return (surplus, hasOverflowed, holdBack(rest))
    }

    /// Puts back what found no room, and lets everything that arrived wait.
    private mutating func holdBack(_ rest: ArraySlice<Errand>) -> Int {
        if rest.isEmpty { return 0 }
        isBlocked = true
        var heldBack = 0
        queue = (rest + queue).map { errand in
            guard case .pass(let value, let bytes) = errand else { return errand }
            heldBack += 1
            return .keep(value, bytes: bytes)
        }
        let passes = rest.count { if case .pass = $0 { true } else { false } }
        valueCount += rest.count
        bytes += rest.reduce(0) { $0 + $1.bytes }
        if passes > 0, case .claim(let claims) = second { second = claims > passes ? .claim(claims - passes) : nil }
        return heldBack
    }

    /// A claim gave so many messages.
    ///
    /// - Returns: how many are still wanted, how many came that nobody knew of, and how many that were thought to wait
    ///   do not.
    mutating func claimed(_ count: Int, isShort: Bool) -> (unmet: Int, surplus: Int, missing: Int) {
        let wanted = underWay.claims
        underWay = ([], 0, 0)
        if count > 0 { isBlocked = false }
        let thought = stored
        stored = isShort ? 0 : max(0, stored - count)
        let missing = isShort ? max(0, thought - max(count, wanted)) : 0
        if count >= wanted { return (0, count - wanted, missing) }
        return (wanted - count, 0, missing)
    }

    /// Makes so many of the values that were to go straight through wait instead, the last ones first.
    ///
    /// - Returns: how many more wait now.
    mutating func keepBack(_ count: Int) -> Int {
        var left = count
        for index in queue.indices.reversed() where left > 0 {
            switch queue[index] {
            case .pass(let value, let bytes):
                queue[index] = .keep(value, bytes: bytes)
                left -= 1
            case .claim(let claims):
                queue[index] = .claim(max(0, claims - left))
                left -= min(left, claims)
            case .keep:
                break
            }
        }
        queue.removeAll { if case .claim(0) = $0 { true } else { false } }
        return count - left
    }
}

extension Errands.Errand {
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
}
