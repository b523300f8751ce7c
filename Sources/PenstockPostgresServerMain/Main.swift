import PenstockCLI
import PenstockPostgres
import PenstockServer

@main struct Main {
    static func main() {
        ServerStores.use(
            .database, { url, options in try await .open(postgres: url, options: options) },
            inspector: { url, stuckAfter in try await PostgresStore.inspectHealth(url: url, stuckAfter: stuckAfter) })
        Program.main(ServerCommand.self)
    }
}
