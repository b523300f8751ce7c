import PenstockCLI
import PenstockClient

@main struct Main {
    static func main() {
        Program.main { url, options in try await .open(url: url, options: options) }
    }
}
