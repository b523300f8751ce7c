import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Start a workflow that is written in JSON.",
        usage: "penstock workflow run <file>|- [<options>]",
        discussion: """
            EXAMPLES
              penstock workflow run order.json
              penstock workflow run - --name order-17 --queue orders < tasks.ndjson

            The input is one object with a name and tasks, or a task on each line:
              {"name": "order-17", "tasks": [
                {"name": "charge", "queue": "payments", "payload": {"cents": 1900}},
                {"name": "pack", "queue": "packing", "payload": "book 17", "after": "charge"},
                {"name": "mail", "queue": "mail", "after": ["pack", {"task": "charge"}]},
                {"name": "report", "queue": "reports", "after": [{"task": "pack", "need": "ended"}]}]}

            A task comes after those that it waits for. It may also have payloadBase64, headers, priority, attempts, group, \
            expires, and delay or at. A payload that is no text is enqueued as it is written. What it waits for must be done; with need \
            ended it may have ended in whichever way, and with whenDead hold the task waits until a dead letter is redriven.

            When this ends with 0 all of it is accepted, or a workflow of that name is there already, whatever its tasks are: \
            then nothing is enqueued, and --json says so (isNew). Queues that drop when they are full do so as ever.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @Option(help: "The workflow's name, whatever the file says.", transform: { try WorkflowName($0) })
    var name: WorkflowName?

    @Option(
        help: "The queue of tasks that name none.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @OptionGroup var acceptance: AcceptanceOptions

    @MainActor func run() async throws {
        // The input is read before the file is touched: what is wrong with it undoes nothing.
        let written = try WorkflowFile(try InputFile.readAll(file, bytesMax: WorkflowFile.bytesMax))
        let workflow = NewWorkflow(
            try name ?? written.name.map { try WorkflowName($0) },
            tasks: try written.tasks.map { try $0.task(defaultQueue: queue) })
        try workflow.validate(now: SystemTime().now)
        try await storeOptions.file.use { store in
            let receipt = try await store.start(
                workflow, durability: acceptance.durability, timeout: acceptance.timeout)
            let shown = Escape.text(receipt.name.text)
            let dropped = receipt.receipts.values.count { $0.state == .dropped }
            let sentence =
                receipt.isNew
                ? "Workflow \(shown) started with \(CountText.format(workflow.tasks.count, "task"))."
                : "There is a workflow \(shown) already; nothing was enqueued."
            try Output().answer(
                sentence, .started(receipt.name, isNew: receipt.isNew, receipt.receipts),
                isJSON: storeOptions.isJSON, isChange: receipt.isNew)
            if dropped > 0 {
                let was = dropped == 1 ? "was" : "were"
                ErrorOutput.say(
                    "\(CountText.format(dropped, "task")) \(was) dropped, as queues are full; they are on record.")
            }
        }
    }
}
