import PenstockCLI

@main struct Main {
    static func main() {
        Program.main()
    }
}
