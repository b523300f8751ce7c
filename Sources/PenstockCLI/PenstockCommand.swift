import ArgumentParser
import PenstockFormats

/// The root of the commands.
struct PenstockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "penstock",
        abstract: "A durable message queue in one SQLite file.",
        discussion: """
            EXAMPLES
              penstock queue create mail --capacity 10000 --when-full wait
              penstock enqueue mail 'hello'
              seq 1000 | penstock enqueue mail --lines
              penstock work mail --concurrency 4 -- ./send-mail
              penstock status --watch
              penstock log mail --last 20 --follow
              penstock dead redrive --queue mail
              penstock workflow run order.json

            Every command but `copy` takes --db PATH; else the file is what PENSTOCK_DB says, else ./penstock.db. Most take a server in its place: \
            --db http://HOST:PORT, https://HOST or unix:PATH; or a PostgreSQL database, which many machines share: \
            --db postgres://USER@HOST/DATABASE?schema=NAME, with the password in PGPASSWORD or ~/.pgpass. Durations are \
            written 250ms, 10s, 5m, 1h30m or 7d; times are ISO 8601 (UTC unless they have a zone), or +10m and -2h \
            from now.

            ENVIRONMENT
              PENSTOCK_DB     the file, or the address of the server or database, where --db is not given
              PENSTOCK_TOKEN  the token that a server is shown

            EXIT STATUS
            \(ShellStatus.table)

            For bash, zsh and fish, penstock --generate-completion-script SHELL writes completions.
            """,
        version: Version.text,
        groupedSubcommands: [
            CommandGroup(name: "Messages in and out", subcommands: [EnqueueCommand.self, WorkCommand.self]),
            CommandGroup(
                name: "Looking",
                subcommands: [
                    StatusCommand.self, CheckCommand.self, ListCommand.self, ShowCommand.self, WhyCommand.self,
                    LogCommand.self,
                ]),
            CommandGroup(
                name: "By hand",
                subcommands: [
                    CancelCommand.self, RetryCommand.self, DeadCommand.self, ReplayCommand.self, PruneCommand.self,
                ]),
            CommandGroup(name: "For other machines and browsers", subcommands: [ServeCommand.self]),
            CommandGroup(
                name: "Queues and files",
                subcommands: [
                    QueueCommand.self, GroupCommand.self, LimitCommand.self, ScheduleCommand.self, WorkflowCommand.self,
                    DoctorCommand.self,
                    BackupCommand.self, RestoreCommand.self, CopyCommand.self, MigrateCommand.self,
                ]),
        ]
    )
}
