internal import PenstockCore

extension PendingOperations {
    /// The parts of a call while it is put together.
    struct Call {
        private let size: Int
        /// Whether a value that finds no room waits for it.
        private let waits: Bool
        /// How many messages wait that are older than the values of this call.
        private var old: Int
        /// How many messages wait after the parts so far.
        private var stored: Int
        private var parts: [Part] = []
        private var values: [Operation] = []
        /// How many of `values` are to be claimed at once. Values that wait and such that do not make no one part.
        private var passCount = 0
        private var counts = (values: 0, bytes: 0, claims: 0)

        init(size: Int, stored: Int, waits: Bool) {
            (self.size, self.stored, self.waits) = (size, stored, waits)
            old = stored
        }

        /// Returns whether the operation still has a place in this call.
        mutating func add(_ operation: Operation) -> Bool {
            guard reserve(operation) else { return false }
            switch operation {
            case .keep:
                if passCount > 0 { endValues() }
                values.append(operation)
                stored = min(stored + 1, size)
            case .pass:
                // One more is stored before the first is claimed: without room for it, one would be dropped.
                if passCount == 0 || stored + passCount >= size { endValues() }
                values.append(operation)
                passCount += 1
            case .claim(let count):
                // Claims of older messages make room, and can only do good before values that would wait for it: so all of these
                // are one operation, and all values another.
                let isFirst = !parts.contains { if case .enqueue = $0 { true } else { false } }
                let isOfOld = waits && passCount == 0 && count <= old && isFirst
                if !isOfOld { endValues() }
                claim(count)
                old = max(0, old - count)
                stored = max(0, stored - count)
            }
            return true
        }

        mutating func finished() -> [Part] {
            endValues()
            return parts
        }

        /// The first operation always has a place.
        private mutating func reserve(_ operation: Operation) -> Bool {
            let isFirst = parts.isEmpty && values.isEmpty
            if operation.value != nil { counts.values += 1 }
            counts.bytes += operation.bytes
            counts.claims += operation.claimCount
            return isFirst
                || counts.values <= Limits.batchCountMax && counts.bytes <= Limits.batchBytesMax
                    && counts.claims <= Limits.batchCountMax
                    && claimedBytesMax + Self.claimedBytes(operation.claimCount) <= ClaimRequest.claimedBytesMax
        }

        /// What the claims so far may answer with. Claims that come to be one answer with less.
        private var claimedBytesMax: Int {
            parts.reduce(Self.claimedBytes(passCount)) { sum, part in
                if case .claim(let count) = part { sum + Self.claimedBytes(count) } else { sum }
            }
        }

        private static func claimedBytes(_ count: Int) -> Int {
            ClaimRequest.bytesMax(limit: min(count, Limits.batchCountMax))
        }

        private mutating func endValues() {
            if values.isEmpty { return }
            parts.append(.enqueue(values))
            if passCount > 0 { claim(passCount) }
            (values, passCount) = ([], 0)
        }

        private mutating func claim(_ count: Int) {
            if case .claim(let before)? = parts.last {
                parts[parts.count - 1] = .claim(before + count)
            } else {
                parts.append(.claim(count))
            }
        }
    }
}
