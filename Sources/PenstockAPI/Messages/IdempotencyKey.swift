import HTTPTypes
import Penstock
import PenstockCore
import PenstockHTTP

/// What a client calls one enqueue, so that it can make the request again and the message is there once: the header
/// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
///
/// It is a unique key of the message, in a namespace of its own, that is held for a day whatever becomes of the message: so it is
/// in the same transaction as the message, for all servers and processes on the file, and outlives them.
struct IdempotencyKey {
    /// For how long the same request gives the same answer.
    static let period = Duration.seconds(24 * 3600)

    let uniqueKey: UniqueKey
    private let text: String

    /// - Parameters:
    ///   - value: what the header says: a string of RFC 8941, or the same without quotes.
    ///   - principal: whoever makes the request: the keys of others are no business of his.
    init(_ value: String, of principal: Principal) throws(PenstockError) {
        var key = value[...]
        if key.utf8.count >= 2, key.hasPrefix("\""), key.hasSuffix("\"") { key = key.dropFirst().dropLast() }
        try require(
            (1...200).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) },
            "An Idempotency-Key has 1 to 200 characters of ASCII, and no spaces.")
        // Neither part has a space.
        self.init(text: "idempotency \(principal.name) \(key)")
    }

    private init(text: String) {
        self.text = text
        uniqueKey = UniqueKey(text, scope: .period(Self.period))
    }

    /// That of one line of a request with many messages.
    func line(_ number: Int) -> IdempotencyKey { IdempotencyKey(text: "\(text) \(number)") }

    /// Which of some messages that have such keys are others than those that had them first.
    ///
    /// - Parameter receipts: what their enqueue gave, for each of them.
    static func reused(
        _ messages: [NewMessage], as receipts: [Receipt], in store: PenstockStore
    ) async throws -> Set<Int> {
        var places: [SequenceNumber: Int] = [:]
        for (place, receipt) in receipts.enumerated() where receipt.skipped { places[receipt.sequence] = place }
        if places.isEmpty { return [] }
        var reused: Set<Int> = []
        // Of a message that retention has let go nothing is known but its number.
        let query = MessageQuery(sequences: places.keys.sorted(), limit: places.count, withPayload: true)
        try await store.storage.eachPage(of: query) { page in
            for record in page {
                guard let place = places[record.sequence] else { continue }
                if record.payload != messages[place].payload { reused.insert(place) }
            }
        }
        return reused
    }

    /// Why a message has not both.
    static let besideKey = Problem.invalid(
        "A message has an Idempotency-Key or a key of its own; with the key scope 24h its own does the same.")

    /// Why a request is refused whose key another message has.
    static let reused = Problem(
        HTTPResponse.Status(code: 422, reasonPhrase: "Unprocessable Content"), code: "idempotencyKeyReused",
        "A request with this Idempotency-Key had another payload; each request has a key of its own.")
}
