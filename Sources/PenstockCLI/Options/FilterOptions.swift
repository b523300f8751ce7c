import ArgumentParser
import Penstock

/// What messages have to have.
struct FilterOptions: ParsableArguments {
    @Option(help: .init("Only messages with this text in the error of their last attempt.", valueName: "text"))
    var errorContains: String?

    @Option(help: .init("Only messages with this text in their payload.", valueName: "text"))
    var payloadContains: String?

    @Option(
        name: .customLong("header"),
        help: .init("Only messages with this header. May be repeated.", valueName: "name=value"),
        transform: Values.header)
    var headers: [Values.Header] = []

    @Option(help: .init("Only messages that were enqueued with this unique key.", valueName: "key"))
    var key: String?

    func validate() throws {
        var names: Set<String> = []
        for header in headers where !names.insert(header.name).inserted {
            throw ValidationError("The header '\(header.name)' is given twice.")
        }
    }

    var filter: MessageFilter {
        MessageFilter(
            uniqueKey: key, headers: Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) }),
            payloadContains: payloadContains, errorContains: errorContains)
    }

    var isEmpty: Bool { filter == MessageFilter() }
}
