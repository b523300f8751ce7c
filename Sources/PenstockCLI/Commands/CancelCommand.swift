import ArgumentParser
import Penstock

struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Take messages out of the line, and ask those who work on them to end.",
        discussion: """
            EXAMPLES
              penstock cancel 12 13
              penstock cancel 12 --within 5m
              penstock cancel 12 --now
              penstock cancel --queue mail
              penstock cancel --queue mail --running
              penstock cancel --queue mail --header tenant=ada --dry-run

            What waits is cancelled at once. A command that works on a message gets SIGTERM, and SIGKILL after the worker's \
            --stop-time; the task of a handler in a program is cancelled. When it says that its message is done, the message is done: \
            a command does so with exit status 0. However else it ends, the message is cancelled, and it is not tried again; so \
            it is when the worker dies, or has not ended after --within. Until then it is leased, and `penstock show` says that \
            it is to be cancelled.

            With --now what runs is cancelled at once too: its worker loses the lease, its command is stopped, and whatever it says \
            changes nothing. By numbers, all are cancelled or none.
            """)

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "With --queue: also those that workers have.")
    var running = false

    @Flag(help: "Take what workers have away from them at once.")
    var now = false

    @Option(
        help: .init("How long workers have to end. (default: 30s)", valueName: "duration"), transform: Values.duration)
    var within: Duration?

    func validate() throws {
        if now, within != nil {
            throw ValidationError("--now gives workers no time, and --within does; leave one of them out.")
        }
        if running, selection.queue == nil {
            throw ValidationError(
                "--running goes with --queue; messages that are named by number are cancelled wherever they are.")
        }
        if let within, !Limits.leaseRange.contains(within) { throw ValidationError("--within is 100ms to 7d.") }
    }

    @MainActor func run() async throws {
        let states: Set<MessageState> =
            running ? [.pending, .scheduled, .blocked, .ready, .leased] : [.pending, .scheduled, .blocked, .ready]
        try await selection.apply(
            now ? .cancel : .requestCancel(within: within ?? Limits.cancelTime), states: states,
            addition: { store, selection, _ in CountAddition(phrase: try await phrase(store, selection)) })
    }

    /// Says of which messages the end is still to come.
    @MainActor
    private func phrase(_ store: PenstockStore, _ selection: Selection) async throws -> String? {
        if now { return nil }
        guard case .sequences(let sequences) = selection else {
            return running
                ? "cancelled, those that run once their workers have ended, unless they are done by then" : nil
        }
        let query = MessageQuery(sequences: Array(sequences.prefix(Limits.rowsMax)), limit: Limits.rowsMax)
        let found = try await store.list(query)
        return Self.phrase(
            of: sequences.count, asked: found.count { $0.cancelRequestedAt != nil },
            done: found.count { $0.state == .done })
    }

    /// What became of messages that were named by number; `nil`: all are cancelled.
    ///
    /// - Parameters:
    ///   - asked: how many have a worker that is asked to end.
    ///   - done: how many were done all the same: before their workers had heard of it, or as they had.
    static func phrase(of count: Int, asked: Int, done: Int) -> String? {
        if asked + done == 0 { return nil }
        if count == 1 {
            return asked == 1
                ? "cancelled once its worker has ended, unless it is done by then"
                : "done all the same, as its worker says"
        }
        let which = asked == count ? "" : ", \(asked) of them"
        let whose = asked == 1 ? "its worker has ended, unless it is" : "their workers have ended, unless they are"
        return "cancelled" + (asked == 0 ? "" : "\(which) once \(whose) done by then")
            + (done == 0 ? "" : ", but for \(done) done all the same, as a worker says")
    }
}
