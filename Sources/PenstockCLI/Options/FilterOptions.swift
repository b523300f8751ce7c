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

    func validate() throws { try headers.refuseRepeatedNames() }

    var filter: MessageFilter {
        MessageFilter(
            uniqueKey: key, headers: headers.byName, payloadContains: payloadContains, errorContains: errorContains)
    }

    var isEmpty: Bool { filter == MessageFilter() }
}
