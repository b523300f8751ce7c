import PenstockCLI
import PenstockPostgres

@main struct Main {
    static func main() {
        ServerStores.use(
            .database, { url, options in try await .open(postgres: url, options: options) },
            migrator: { url in try await PostgresStore.migrate(url: url) },
            inspector: { url, stuckAfter in try await PostgresStore.inspectHealth(url: url, stuckAfter: stuckAfter) })
        Program.main()
    }
}
