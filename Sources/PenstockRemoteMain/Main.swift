import PenstockCLI
import PenstockClient

@main struct Main {
    static func main() {
        ServerStores.use(.server, { url, options in try await .open(url: url, options: options) })
        Program.main()
    }
}
