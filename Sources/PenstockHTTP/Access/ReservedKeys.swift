package import PenstockCore

/// The unique keys that this server's faces make out of what their clients call a request. A client that gave one to a message
/// of its own would answer for somebody else's request.
package enum ReservedKeys {
    /// With these they begin.
    private static let prefixes = ["idempotency ", "amazon-sqs "]

    /// Throws a problem with status 400 when the key that a client gives to a message is one of them.
    package static func refuse(_ key: UniqueKey?) throws(Problem) {
        guard let key, let prefix = prefixes.first(where: key.key.hasPrefix) else { return }
        throw Problem.invalid("A unique key does not begin with '\(prefix)': these are the server's own.")
    }
}
