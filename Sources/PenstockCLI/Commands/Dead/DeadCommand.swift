import ArgumentParser

struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Look at dead letters, put them back in line, or throw them away.",
        subcommands: [DeadListCommand.self, DeadRedriveCommand.self, DeadDiscardCommand.self])
}
