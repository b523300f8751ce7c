import PenstockCLI
import PenstockServer

@main struct Main {
    static func main() {
        Program.main(ServerCommand.self)
    }
}
