import NIOCore
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What is said of a server that cannot be reached: where the client can tell why, it does.
@Suite(.timeLimit(.minutes(5))) struct UnreachableTests {
    private func said(of url: String) async throws -> String {
        do {
            _ = try await RemoteStore.open(url, token: nil, worker: nil)
            return ""
        } catch let error as PenstockError {
            #expect(error.code == .unreachable)
            return error.message
        }
    }

    @Test func aNameWithoutAnAddress() async throws {
        #expect(try await said(of: "http://nowhere.invalid:7700").contains("the name has no address"))
    }

    /// A server's address and a database's are given to one option of the command, and to two calls of the library.
    @Test(arguments: ["postgres://mill:geheim@db.example/shop", "PostgreSQL://db.example/shop"])
    func theAddressOfADatabaseIsOpenedByAnotherProduct(_ url: String) async {
        let error = await #expect(throws: PenstockError.self) { try await PenstockStore.open(url: url) }
        #expect(error?.code == .invalidInput)
        #expect(error?.message.contains("PenstockStore.open(postgres:)") == true)
        #expect(error?.message.contains("geheim") == false)
    }

    @Test func nobodyListens() async throws {
        let folder = TemporaryFolder()
        #expect(try await said(of: "UNIX:\(folder.file("s"))").contains("is it running there?"))
    }

    /// A program that ends, or a bound on the time: nobody is to look for a server that runs.
    @Test func anOpeningThatIsCancelledIsSaidToBeThat() async throws {
        let requests = Tally()
        let server = try await ScriptedServer.start { _ in
            requests.add()
            return []
        }
        let opening = Task { [url = server.url] in _ = try await RemoteStore.open(url, token: nil, worker: nil) }
        try await requests.wait(for: 1)
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        try await server.stop()
    }

    /// A worker would look at its token, and end. Such a failure comes as an answer of its own, or behind what was done before.
    @Test func aStoreThatDoesNotAllowTheServerSomethingIsAway() async throws {
        let mail = TokenServer.mail
        let faulty = FaultyStore(InMemoryStore())
        try await TokenServer.run(faulty) { (_, open) async throws in
            let team = try await open("team")
            let claim = ClaimRequest(queue: mail, limit: 1, lease: .seconds(30))
            let enqueue = StoreOperation.enqueue([NewMessage(payload: [1])], to: mail, durability: .processCrash)
            faulty.fail(every: [.claim], with: PenstockError(.forbidden, "The database does not allow it."))
            await expect(.unreachable) { _ = try await team.claim(claim) }
            await expect(.unreachable) { _ = try await team.perform([.claim(claim)]) }
            let performed = try await team.perform([enqueue, .claim(claim)])
            #expect(performed.answers.count == 1)
            #expect((performed.failure as? PenstockError)?.code == .unreachable)
            faulty.heal()
            #expect(try await team.claim(claim).messages.count == 1)
            try await team.close()
        }
    }

    /// A server that stops closes its store, perhaps under a call. Another one will be there soon, and workers are to live until then.
    @Test func aStoreThatIsClosedUnderItsServerIsAway() async throws {
        let faulty = FaultyStore(InMemoryStore())
        let server = try await TestServer.start(PenstockStore(faulty), keepsUp: false)
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        let store = PenstockStore(client)
        let mail = try await store.queue("mail", of: Int.self)
        try await mail.enqueue(1)
        let closed = PenstockError(.closed, "The store was closed.")
        faulty.fail(.claim, with: closed)
        await expect(.unreachable) {
            _ = try await client.claim(ClaimRequest(queue: mail.name, limit: 1, lease: .seconds(30)))
        }
        faulty.fail(.claim, with: closed)
        let worked = Tally()
        try await Worker(mail, options: .init(drain: true)) { _ in worked.add() }.run()
        #expect(worked.count == 1)
        try await store.close()
        await server.stop()
    }

    /// It is a call like others, and no wait for a ring, which the server may leave open for longer.
    @Test func aServerThatSaysNothingIsGivenUpWithinTheTimeOfACall() async throws {
        let server = try await ScriptedServer.start { _ in [] }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let follower = RingFollower(connection, time: SystemTime(), random: SeededRandom(seed: 1))
        let error = await #expect(throws: PenstockError.self) { try await follower.greet(within: .milliseconds(500)) }
        #expect(error?.code == .unreachable)
        await connection.close()
        try await server.stop()
    }

    @Test func aPortWithoutTLS() async throws {
        let server = try await ScriptedServer.start { _ in ScriptedServer.greeting }
        let url = "https://127.0.0.1:\(server.port)"
        #expect(try await said(of: url).contains("write http:// for a server"))
        try await server.stop()
    }

    /// A user who was told to write http:// would show the token to all on the way.
    @Test(arguments: [
        "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED]))",
        "failedToValidateHostname(expectedName: mill.example)",
        "unableToValidateCertificate",
    ])
    func aCertificateThatIsNotTrusted(_ words: String) throws {
        let failure = ConnectFailure(NIOSSLKindOfError(description: words))
        #expect(failure == .untrusted)
        let error = failure.error(at: try ServerURL("https://mill.example"), CancellationError())
        #expect(error.code == .unreachable)
        #expect(error.message.contains("its certificate is not trusted here, or is for another name"))
        #expect(!error.message.contains("http://"))
    }

    /// The system's list of authorities is read once by a client of HTTP: one that is new there would not be known for as long as it lives.
    @Test func whomTheSystemTrustsIsReadAnewForACertificateThatIsNotTrusted() async throws {
        let server = try await ScriptedServer.start { _ in ScriptedServer.greeting }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil, renewalInterval: .zero)
        let first = connection.clients
        connection.hear(IOError(errnoCode: ECONNREFUSED, reason: "connect"), of: first)
        #expect(connection.clients === first)
        connection.hear(NIOSSLKindOfError(description: "unableToValidateCertificate"), of: first)
        let second = connection.clients
        #expect(second !== first)
        // Of several that failed at once.
        connection.hear(NIOSSLKindOfError(description: "unableToValidateCertificate"), of: first)
        #expect(connection.clients === second)
        let follower = RingFollower(connection, time: SystemTime(), random: SeededRandom(seed: 1))
        _ = try await follower.greet(within: .seconds(60))
        await connection.close()
        try await server.stop()
    }

    @Test func whomTheSystemTrustsIsNotReadAtEachTry() async throws {
        let connection = try ServerConnection(
            try ServerURL("https://mill.example"), token: nil, renewalInterval: .seconds(3600))
        let first = connection.clients
        connection.hear(NIOSSLKindOfError(description: "unableToValidateCertificate"), of: first)
        #expect(connection.clients === first)
        await connection.close()
    }

    private struct NIOSSLKindOfError: Error, CustomStringConvertible {
        let description: String
    }

    /// Root may use any socket, so the word is the system's and the socket is not there.
    @Test func aSocketOfAnotherUser() throws {
        let url = try ServerURL("unix:/run/s")
        for code in [EACCES, EPERM] {
            let failure = ConnectFailure(IOError(errnoCode: code, reason: "connect"))
            #expect(failure == .notAllowed)
            #expect(failure.error(at: url, CancellationError()).code == .forbidden)
        }
        #expect(ConnectFailure(IOError(errnoCode: ECONNREFUSED, reason: "connect")) == .nobody)
    }
}
