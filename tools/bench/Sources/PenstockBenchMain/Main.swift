import ArgumentParser
import PenstockBench

@main struct Main {
    static func main() async { await BenchCommand.main() }
}
