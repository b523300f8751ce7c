import PenstockCore
import PenstockTestKit

@testable import Penstock

extension SettleLine {
    /// Has verdicts of several tasks go in one call, as those on messages whose work takes no time do. Nobody carries afterwards.
    func manyWentTogether() async throws {
        beginCarrying {}
        let verdicts = (Int64(1001)...1016).map { number in
            let lease = Lease(sequence: SequenceNumber(number), token: LeaseToken(rawValue: number))
            return Task { [self] in try await settle(Settlement(lease, .done)) }
        }
        try await eventually { leases.count == verdicts.count }
        let entries = take()
        answer(entries, entries.map { _ in .settled(.done) })
        for verdict in verdicts { _ = try await verdict.value }
        endCarrying()
    }
}
