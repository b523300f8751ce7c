import PenstockCLI
import PenstockPostgres
import PenstockServer

@main struct Main {
    static func main() {
        Program.main(
            ServerCommand.self, openDatabase: { url, options in try await .open(postgres: url, options: options) },
            inspect: { url, stuckAfter in try await PostgresStore.inspectHealth(url: url, stuckAfter: stuckAfter) })
    }
}
