import ArgumentParser
import Penstock
import PenstockBench
import PenstockPostgres
import Synchronization

/// The same work on a store in PostgreSQL: a program of its own, so that the other has nothing of libpq in it.
@main struct Main {
    static func main() async {
        StoreOptions.opening.withLock { opening in
            opening = { address, durability in try await .open(postgres: address, options: .init(durability: durability)) }
        }
        await BenchCommand.main()
    }
}
