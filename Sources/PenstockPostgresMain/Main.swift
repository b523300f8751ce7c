import PenstockCLI
import PenstockPostgres

@main struct Main {
    static func main() {
        Program.main(
            openDatabase: { url, options in try await .open(postgres: url, options: options) },
            migrate: { url in try await PostgresStore.migrate(url: url) },
            inspect: { url, stuckAfter in try await PostgresStore.inspectHealth(url: url, stuckAfter: stuckAfter) })
    }
}
