import PenstockCLI
import PenstockPostgres
import PenstockServer

@main struct Main {
    static func main() {
        Program.main(ServerCommand.self) { url, options in try await .open(postgres: url, options: options) }
    }
}
