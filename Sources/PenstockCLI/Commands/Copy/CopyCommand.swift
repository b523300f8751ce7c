import ArgumentParser
import Penstock
import PenstockFormats

struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Move all queues into another store, a file or a PostgreSQL database, and close the one they leave.",
        discussion: """
            EXAMPLES
              penstock copy --from queue.db --to postgres://mill@db.example/shop
              penstock copy --from postgres://mill@db.example/shop --to queue.db --log
              penstock copy --from queue.db --to new.db --dry-run
              penstock copy --from queue.db --cancel

            This moves house: the source is closed, and stays so. For a copy to try things on, while the source works on, use \
            `penstock backup` and open the file that it makes; of a database, pg_dump.

            Copied are queues with their settings, limits, schedules, workflows and cursors, and all messages that wait or are dead. \
            With --log also what has ended. A new store has the messages with their numbers; in another one all are higher by the same \
            number, and the view penstock_origins says which each had.

            Before it begins, the source is closed: producers and workers are refused and told where the queues go, and reading goes on. \
            While workers have messages nothing is begun; with --wait they get some time to finish, and get nothing new. The queues open in \
            the target all at once, when everything is there and was counted in both.

            It may be interrupted, killed as well: run it again, and it goes on from where it was. --cancel opens the source again; with \
            --to it also removes what has come there. When all has come, the queues may be open there: then --cancel wants --to, and opens \
            the source when they are not, or were deleted there. For a target that is lost there is --force.
            """)

    @Option(help: .init("The store that is left.", valueName: "store"), completion: .file())
    var from: String

    @Option(
        help: .init("The store that gets its queues; a file is made at need.", valueName: "store"), completion: .file())
    var to: String?

    @Flag(help: "Copy what has ended as well.")
    var log = false

    @Option(
        help: .init("How long workers of the source may go on with what they have.", valueName: "duration"),
        transform: Values.duration)
    var wait: Duration = .zero

    @Flag(help: "Say what would be copied, and do nothing.")
    var dryRun = false

    @Flag(help: "Open the source again, and give the move up.")
    var cancel = false

    @Flag(help: "With --cancel: open the source though its queues have moved, as their new store is lost.")
    var force = false

    @OptionGroup var outputOptions: OutputOptions

    func validate() throws {
        for (option, path) in [("--from", from), ("--to", to)] where path == "" {
            throw ValidationError("The store after \(option) cannot be empty.")
        }
        if to == nil, !cancel { throw ValidationError("Say where the queues go with --to.") }
        if cancel, dryRun || log || wait > .zero {
            throw ValidationError("--cancel goes with none of --dry-run, --log and --wait.")
        }
        if force, !cancel || to != nil {
            throw ValidationError("--force goes with --cancel alone; with --to what is there is looked at.")
        }
    }

    @MainActor func run() async throws {
        let source = try Self.store(at: from)
        let target = try to.map { try Self.store(at: $0) }
        try source.refuseMissing()
        if cancel { return try await cancel(source, target) }
        guard let target else { return }
        if source.absolutePath == target.absolutePath {
            throw Failure(.usage, "\(source.shown) is the source and the target; name two stores.")
        }
        if dryRun { return try await CopyForecast(source: source, target: target, withLog: log).show(outputOptions) }
        let copy = StoreCopy(source: source.title, target: target.title, withLog: log, wait: wait)
        let line = Progress(isShown: ErrorOutput.isTerminal, time: SystemTime())
        let report = try await source.use { from in
            try await target.use(mayCreate: true) { into in
                defer { line.clear() }
                return try await from.copy(to: into, copy) { await line.update($0) }
            }
        }
        try CopyText.show(report, copy, isJSON: outputOptions.isJSON)
    }

    @MainActor private func cancel(_ source: StoreFile, _ target: StoreFile?) async throws {
        let force = force
        let place = try await source.use { from -> String? in
            guard let target else { return try await from.cancelCopy(force: force) }
            return try await target.use { into in try await from.cancelCopy(into: into) }
        }
        let name = Escape.text(source.title)
        let sentence =
            if let place {
                target == nil
                    ? "\(name) takes messages again. What has come to \(Escape.text(place)) stays there"
                        + (force ? "; where it is worked, each message is worked twice." : ", and is not worked.")
                    : "\(name) takes messages again, and nothing of it is left in \(Escape.text(place))."
            } else {
                "\(name) takes messages; it was not being copied."
            }
        try Output().answer(
            sentence, .object(["source": .string(source.title), "cancelled": .bool(place != nil)]),
            isJSON: outputOptions.isJSON, isChange: place != nil)
    }

    private static func store(at path: String) throws -> StoreFile {
        let store = StoreFile(path: path)
        if StoreAddress.isForeign(path) {
            throw Failure(
                .usage,
                "\(store.shown) is no address of a store; write postgres://HOST/DATABASE, or the path of a file.")
        }
        if store.kind != .database { try store.requireFile(for: "copy") }
        return store
    }
}

extension StoreFile {
    /// The store as both stores are told of it: without a password, and the same from any folder and by any link.
    var title: String {
        if kind != .file { return shown }
        guard let resolved = realpath(path, nil) else { return absolutePath }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
