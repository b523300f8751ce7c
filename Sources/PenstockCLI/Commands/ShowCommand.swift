import ArgumentParser
import Penstock

/// `penstock show`
struct ShowCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about messages: headers, payload, attempts and their errors.",
        discussion: """
            EXAMPLES
              penstock show 12
              penstock show 12 13 --json
              penstock show 12 --payload > payload.bin

            What is shown is made safe: control characters and bytes that are not UTF-8 appear as \\n or \\xNN. Only \
            --payload writes bytes as they are.
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("The messages' sequence numbers.", valueName: "sequence"), transform: Values.sequence)
    var sequences: [SequenceNumber]

    @Flag(help: "Write the payload's bytes as they are, and nothing else.")
    var payload = false

    func validate() throws {
        if payload && sequences.count > 1 { throw ValidationError("--payload is for one message.") }
        if payload && outputOptions.isJSON { throw ValidationError("--payload and --json exclude each other.") }
    }

    func execute() async throws {
        let output = Output()
        try await fileOptions.file.look { store in
            for (index, sequence) in sequences.enumerated() {
                let record = try await store.message(sequence)
                if payload {
                    try output.raw(record.payload ?? [])
                } else if outputOptions.isJSON {
                    try output.line(record.json(withAttempts: true))
                } else {
                    if index > 0 { try output.line("") }
                    for line in MessageTables.details(record) { try output.line(line) }
                }
            }
            try output.flush()
        }
    }
}
