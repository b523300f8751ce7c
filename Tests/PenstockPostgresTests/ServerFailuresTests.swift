import PenstockCore
import Testing

@testable import PenstockPostgres

/// What people are told of a server's letters, and whether a call is made again for them.
struct ServerFailuresTests {
    private let address: ServerAddress

    init() throws { address = try ServerAddress("postgres://penstock:secret@db.example/shop") }

    private func code(_ state: String?, _ message: String = "m", isOfOpenStore: Bool = false) -> PenstockError.Code? {
        let error = ServerError(state: state, message: message, isOfOpenStore: isOfOpenStore)
        return (ServerFailures.translated(error, address) as? PenstockError)?.code
    }

    @Test(arguments: [
        ("28P01", PenstockError.Code.forbidden), ("28000", .forbidden), ("42501", .forbidden), ("3D000", .notFound),
        ("25006", .readOnly), ("53100", .diskFull), ("55P03", .busy), ("40P01", .busy), ("40001", .busy),
        ("23505", .corrupt), ("42P01", .corrupt), ("42883", .corrupt), ("XX001", .corrupt), ("08006", .unreachable),
        ("57P01", .unreachable), ("53300", .unreachable), ("22P02", .storage),
    ])
    func lettersHaveACode(_ state: String, _ expected: PenstockError.Code) {
        #expect(code(state) == expected)
    }

    @Test func aServerThatSaidNothingIsAway() {
        #expect(code(nil) == .unreachable)
        // libpq's own word, before it asks any.
        #expect(code(nil, "invalid port number") == .invalidInput)
    }

    @Test func aServerThatHasNoPlaceLeftSaysSo() {
        let error = ServerError(state: "53300", message: "too many clients", isLost: true)
        let said = (ServerFailures.translated(error, address) as? PenstockError)?.message
        #expect(said?.contains("takes no more connections (too many clients), and nothing was done") == true)
    }

    /// A password that is being changed ends no worker.
    @Test(arguments: ["28P01", "28000"]) func whoWasLetInBeforeTriesAgain(_ state: String) {
        #expect(code(state, isOfOpenStore: true) == .unreachable)
    }

    @Test func onlyAContradictionSaysSo() throws {
        let states = ["23505", "42P01", "XX001"]
        let said = states.map { state in
            let error = ServerFailures.translated(ServerError(state: state, message: "twice"), address)
            return (error as? PenstockError)?.contradiction
        }
        #expect(said == ["twice", nil, nil])
    }

    /// What stood in another one's way, and what ended with the session, may go through once more; nothing else may.
    @Test(arguments: [
        ("40001", true), ("40P01", true), ("57P01", true), ("08006", true), ("25006", true), ("25P03", true),
        ("26000", true), ("0A000", true), ("23505", false), ("42501", false), ("55P03", false), ("53100", false),
        ("57014", false),
    ])
    func whatMayGoThroughIsTriedAgain(_ state: String, _ isTried: Bool) {
        #expect(ServerError(state: state, message: "m").mayBeTriedAgain == isTried)
    }

    /// All calls of the transaction have waited for it, and none waits once more by itself.
    @Test func whatIsInTheWayIsNobodysFault() {
        #expect(ServerError(state: "55P03", message: "m").isInTheWay)
        #expect(ServerError(message: "m", isLost: true).isInTheWay)
        #expect(!ServerError(state: "23505", message: "m").isInTheWay)
        #expect(!ServerError(state: "53100", message: "m").isInTheWay)
    }

    @Test func aServerThatRefusesToBeAskedHasNotGoneAway() {
        let refused = ServerFailures.unknown(address, ServerError(state: "53300", message: "too many clients"))
        #expect(refused.code == .outcomeUnknown && refused.message.contains("(too many clients)"))
        let gone = ServerFailures.unknown(address, ServerError(message: "x", isLost: true))
        #expect(gone.code == .outcomeUnknown && gone.message.contains("went away before it answered"))
        #expect(!refused.message.contains("secret"))
    }
}
