import ArgumentParser
import Penstock
import PenstockFormats

struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about messages: headers, payload, attempts and their errors.",
        discussion: """
            EXAMPLES
              penstock show 12
              penstock show 12 13 --json
              penstock show 12 --payload > payload.bin
              penstock show 12 --result | jq .receipt

            What is shown is made safe: control characters and bytes that are not UTF-8 appear as \\n or \\xNN. Only \
            --payload and --result write bytes as they are.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: .init("The messages' sequence numbers.", valueName: "sequence"), transform: Values.sequence)
    var sequences: [SequenceNumber]

    @Flag(help: "Write the payload's bytes as they are, and nothing else.")
    var payload = false

    @Flag(help: "Write the bytes of what it gave as they are, and nothing else.")
    var result = false

    func validate() throws {
        if payload && result { throw ValidationError("--payload and --result exclude each other.") }
        for (name, isGiven) in [("--payload", payload), ("--result", result)] where isGiven {
            if sequences.count > 1 { throw ValidationError("\(name) is for one message.") }
            if storeOptions.isJSON { throw ValidationError("\(name) and --json exclude each other.") }
        }
    }

    @MainActor
    private func result(of sequence: SequenceNumber, in store: PenstockStore) async throws -> [UInt8] {
        guard let result = try await store.journal(of: sequence).result else {
            throw Failure(.missing, "Message \(sequence) has no result: it gave none, or is not done.")
        }
        return result
    }

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look { store in
            for (index, sequence) in sequences.enumerated() {
                let record = try await store.message(sequence)
                if result {
                    try output.raw(try await self.result(of: sequence, in: store))
                } else if payload {
                    try output.raw(record.payload ?? [])
                } else if storeOptions.isJSON {
                    try output.line(record.json(with: try await store.journal(of: sequence)))
                } else {
                    if index > 0 { try output.line("") }
                    let journal = try await store.journal(of: sequence)
                    for line in MessageTables.details(record, journal) { try output.line(line) }
                }
            }
            try output.flush()
        }
    }
}
