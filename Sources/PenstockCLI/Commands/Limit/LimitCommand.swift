import ArgumentParser
import Penstock
import PenstockFormats

struct LimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limits on messages with workers that several queues share.",
        discussion: """
            EXAMPLES
              penstock limit set database 10
              penstock queue set mail --share-limit database
              penstock queue set sms --share-limit database

            A limit of one queue alone: penstock queue set mail --limit 10.
            """,
        subcommands: [LimitSetCommand.self, LimitListCommand.self, LimitRemoveCommand.self])
}

struct LimitSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Make a limit, or change how many it allows.",
        discussion: """
            EXAMPLES
              penstock limit set database 10

            A lower one takes nothing from workers: nothing more is given to them until so many have ended.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The limit's name.", transform: Values.limit)
    var name: LimitName

    @Argument(help: "How many messages workers may have at the same time, of all queues that share it.")
    var count: Int

    @MainActor func run() async throws {
        try await storeOptions.file.use(mayCreate: true) { store in
            try await store.storage.setLimit(name, to: count)
            try Output().answer(
                "Limit \(Escape.text(name.text)) set to \(count).",
                .object(["limit": .string(name.text), "count": .integer(count)]), isJSON: storeOptions.isJSON)
        }
    }
}

struct LimitListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the limits that queues share, with what is leased under each.",
        discussion: """
            EXAMPLES
              penstock limit list
              penstock limit list --json | jq -r .limit
            """)

    @OptionGroup var storeOptions: StoreOptions

    @MainActor func run() async throws {
        try await storeOptions.file.look { store in
            let limits = try await store.storage.limits()
            try Output().show(
                limits.map(\.json), or: GroupViews.table(limits).lines, isJSON: storeOptions.isJSON)
        }
    }
}

struct LimitRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a limit that no queue shares any more.",
        discussion: """
            EXAMPLES
              penstock limit remove database
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The limit's name.", transform: Values.limit)
    var name: LimitName

    @MainActor func run() async throws {
        try await storeOptions.file.use { store in
            try await store.storage.setLimit(name, to: nil)
            try Output().answer(
                "Limit \(Escape.text(name.text)) removed.",
                .object(["limit": .string(name.text), "removed": .bool(true)]), isJSON: storeOptions.isJSON)
        }
    }
}
