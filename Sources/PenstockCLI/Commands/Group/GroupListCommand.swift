import ArgumentParser
import Penstock
import PenstockFormats

struct GroupListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the groups of a queue that have messages in line or with workers, or are paused.",
        discussion: """
            EXAMPLES
              penstock group list mail
              penstock group list mail --json | jq -r 'select(.heldBy) | .group'

            PERMITS is how many messages workers have or may have; BLOCKED those that wait for one of these to end. A dead \
            letter that holds its group is named: redrive or discard it.
            """)

    @OptionGroup var options: QueueOptions

    @Option(help: .init("How many at most, by key.", valueName: "count"))
    var limit = 100

    @Option(help: .init("Only those whose key comes after this one.", valueName: "key"))
    var after: String?

    @MainActor func run() async throws {
        let queue = options.queue
        try await options.storeOptions.file.look(queue: queue) { store in
            let query = GroupQuery(queue: queue, after: after, limit: limit)
            let groups = try await store.storage.groups(query)
            try Output().show(
                groups.map { $0.json(of: queue) }, or: GroupViews.table(groups).lines,
                isJSON: options.storeOptions.isJSON)
            guard groups.count == limit, let last = groups.last else { return }
            let more = GroupQuery(queue: queue, after: last.key, limit: 1)
            if try await !store.storage.groups(more).isEmpty {
                ErrorOutput.say("There are more than these \(limit); use --limit or --after to see others.")
            }
        }
    }
}
