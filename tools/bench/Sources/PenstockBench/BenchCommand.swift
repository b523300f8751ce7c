public import ArgumentParser

/// Does one measured piece of work through Penstock's public API, and prints one line of JSON about it.
/// `tools/bench/run` calls it again and again; by hand it is of use under a profiler.
public struct BenchCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "penstock-bench",
        abstract: "One measured piece of work through Penstock's public API.",
        subcommands: [
            EnqueueCommand.self, SettleCommand.self, DrainCommand.self, LifeCommand.self, ProduceCommand.self,
            WorkCommand.self, FillCommand.self, ClaimsCommand.self, WakeSendCommand.self, WakeWorkCommand.self,
            IdleCommand.self, RetentionCommand.self, StreamCommand.self, BusCommand.self,
            GraphCommand.self, GroupedCommand.self,
        ])

    public init() {}
}
