internal import PenstockCore

extension PendingOperations {
    /// The parts of a call while it is put together.
    struct Call {
        private let size: Int
        /// How many messages wait after the parts so far.
        private var stored: Int
        private var parts: [Part] = []
        private var values: [Operation] = []
        /// How many of `values` are to be claimed at once. Values that wait and such that do not make no one part.
        private var passCount = 0
        private var counts = (values: 0, bytes: 0, claims: 0)

        init(size: Int, stored: Int) {
            (self.size, self.stored) = (size, stored)
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
                endValues()
                claim(count)
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
        }

        private mutating func endValues() {
            if values.isEmpty { return }
            parts.append(.enqueue(values))
            if passCount > 0 { claim(passCount) }
            (values, passCount) = ([], 0)
        }

        private mutating func claim(_ count: Int) {
            if case .claim(let before, _)? = parts.last {
                parts[parts.count - 1] = .claim(before + count, limit: min(before + count, Limits.batchCountMax))
            } else {
                parts.append(.claim(count, limit: min(count, Limits.batchCountMax)))
            }
        }
    }
}
