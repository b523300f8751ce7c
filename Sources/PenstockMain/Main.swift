import PenstockCLI

@main struct Main {
    static func main() async {
        await Program.main()
    }
}
