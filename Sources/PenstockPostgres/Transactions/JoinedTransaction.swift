import Penstock
import PenstockCore
import PenstockSQL

/// The transaction as queues, deliveries and the store join it.
struct JoinedTransaction: ApplicationTransaction, JoinableTransaction {
    let transaction: PostgresTransaction

    var storage: any MessageStore { transaction.storage }

    var time: any TimeSource { transaction.core.time }

    func durability() -> Durability { transaction.durability }

    func join<T>(duringMove: Departure.Allowance, _ body: (Transaction) throws -> T) throws -> T {
        try transaction.join(duringMove: duringMove, body)
    }

    func read<T>(_ body: (Connection) throws -> T) throws -> T { try transaction.read(body) }

    func whenEnded(
        _ lease: Lease, committed: @escaping @Sendable (_ isHeld: Bool) -> Void,
        rolledBack: @escaping @Sendable () -> Void
    ) {
        transaction.whenEnded(lease, committed: committed, rolledBack: rolledBack)
    }
}
