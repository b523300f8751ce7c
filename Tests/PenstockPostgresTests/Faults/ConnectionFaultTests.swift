import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres
@testable import PenstockSQL

/// What becomes of calls when something is wrong with a connection, or somebody is in the way.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ConnectionFaultTests {
    private let queue: QueueName
    private let url: String
    private let address: ServerAddress

    init() throws {
        queue = try QueueName("mail")
        url = try PostgresServer.newURL()
        address = try ServerAddress(url)
    }

    private func open(busyMax: Duration = .seconds(30)) async throws -> PostgresStore {
        var options = PostgresStore.Options()
        options.busyMax = busyMax
        let store = try await PostgresStore.open(url: url, options: options)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        return store
    }

    private func enqueue(_ payload: String, _ store: PostgresStore) async throws -> Receipt {
        try await store.enqueue([NewMessage(payload: Array(payload.utf8))], to: queue, durability: .powerLoss)[0]
    }

    @Test func aStoreGoesOnAfterAnotherProgramHeldTheWriteLock() async throws {
        let store = try await open(busyMax: .seconds(3))
        let other = try Sessions.connect(to: address, busyMax: .seconds(30))
        try other.run("SET idle_in_transaction_session_timeout = 0; BEGIN; SELECT penstock_write_lock()")
        let start = ContinuousClock.now
        // However many wait, they wait together.
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    await #expect { try await enqueue("\(number)", store) } throws: {
                        ($0 as? PenstockError)?.code == .busy
                    }
                }
            }
        }
        // One after the other they would wait for a minute.
        #expect(ContinuousClock.now - start < .seconds(30))
        try other.run("ROLLBACK")
        #expect(try await enqueue("after", store).state == .ready)
        #expect(try await store.log(LogQuery(queue: queue, .last(10))).records.count == 1)
        try await store.close()
    }

    @Test func aMessageOfAWorkerWhoseSessionsWereEndedStaysItsOwn() async throws {
        let (worker, other) = (try await open(), try await open())
        _ = try await enqueue("long", worker)
        let claim = try await worker.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(60)))
        let admin = try Sessions.connect(to: address, busyMax: .seconds(30))
        let lock = try admin.run("SELECT split_part(lock_name, '-', 2) FROM penstock_worker")
        let id = String(decoding: lock.bytes(0, 0), as: UTF8.self)
        try admin.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = \(id)::oid")
        let reclaimed = try await other.reclaim()
        #expect(reclaimed.fromDeadWorkers == 0)
        #expect(try await worker.settle([Settlement(claim.messages[0].lease, .done)]) == [.settled(.done)])
        try await worker.close()
        try await other.close()
    }

    /// A server that lets nobody in once more, as one that has no connections left: what is committed could not be known to be on the disk.
    @Test func whatCouldNotBeFlushedIsNotBegun() async throws {
        try await open().close()
        let role = PostgresServer.newName()
        let admin = try Sessions.connect(to: address, busyMax: .seconds(30))
        try admin.run("CREATE ROLE \(role) LOGIN SUPERUSER")
        var options = PostgresStore.Options()
        options.busyMax = .seconds(1)
        let store = try await PostgresStore.open(
            url: url.replacing("//penstock@", with: "//\(role)@"), options: options)
        let message = NewMessage(payload: [1])
        // The writer is connected, and nothing was flushed yet.
        _ = try await store.enqueue([message], to: queue, durability: .processCrash)
        try admin.run("ALTER ROLE \(role) NOLOGIN")
        #expect(await errorCode { _ = try await enqueue("refused", store) } == .unreachable)
        // What needs no flush goes on meanwhile, also beside what does.
        async let refused = errorCode { _ = try await enqueue("refused", store) }
        _ = try await store.enqueue([message], to: queue, durability: .processCrash)
        #expect(await refused == .unreachable)
        #expect(try admin.run("SELECT FROM penstock_log").rowCount == 2)
        try admin.run("ALTER ROLE \(role) LOGIN")
        #expect(try await enqueue("after", store).state == .ready)
        #expect(try admin.run("SELECT FROM penstock_log").rowCount == 3)
        try await store.close()
    }

    /// As while a password is changed, or where a standby that was promoted has rules of its own.
    @Test func aUserThatIsNotLetInAgainGoesOnOnceItIs() async throws {
        let role = PostgresServer.newName()
        let admin = try ServerConnection(address)
        try admin.run("CREATE ROLE \(role) LOGIN SUPERUSER")
        let own = url.replacing("//penstock@", with: "//\(role)@")
        var options = PostgresStore.Options()
        options.busyMax = .seconds(1)
        let store = try await PostgresStore.open(url: own, options: options)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try admin.run(
            "ALTER ROLE \(role) NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)'"
        )
        await #expect { try await store.status(of: nil) } throws: { ($0 as? PenstockError)?.code == .unreachable }
        await #expect { try await enqueue("refused", store) } throws: { ($0 as? PenstockError)?.code == .unreachable }
        await #expect { try await PostgresStore.open(url: own) } throws: { ($0 as? PenstockError)?.code == .forbidden }
        try admin.run("ALTER ROLE \(role) LOGIN")
        #expect(try await enqueue("after", store).state == .ready)
        #expect(try await store.log(LogQuery(queue: queue, .last(10))).records.count == 1)
        try await store.close()
    }

    @Test func aStoreIsClosedWhileItsServerIsAway() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        var options = PostgresStore.Options()
        options.busyMax = .seconds(2)
        let store = try await PostgresStore.open(url: node.address, options: options)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        _ = try await enqueue("held", store)
        _ = try await store.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(60)))
        try await servers.kill(node)
        let start = ContinuousClock.now
        // A reading ends in seconds, and so does the end.
        await #expect { try await store.status(of: nil) } throws: { ($0 as? PenstockError)?.code == .unreachable }
        await #expect(throws: PenstockError.self) { try await store.close() }
        #expect(ContinuousClock.now - start < .seconds(30))
        await #expect { try await PostgresStore.open(url: node.address) } throws: {
            ($0 as? PenstockError)?.code == .unreachable
        }
    }

    @Test func nothingIsLeftOfATransactionThatWasGivenUpWithStatementsOnTheirWay() async throws {
        let store = try await open()
        let limit = try LimitName("undone")
        await #expect(throws: PenstockError.self) {
            try await store.core.writer.perform { transaction in
                try Configuring.setLimit(limit, to: 3, in: transaction)
                throw PenstockError(.storage, "The work was given up.")
            }
        }
        _ = try await enqueue("after", store)
        #expect(try await store.limits().isEmpty)
        try await store.close()
    }

    @Test func numbersJumpAfterACrashAndGoOnAfterAnOrderlyEnd() async throws {
        let servers = try FaultyServers()
        let node = servers.node("a")
        try await servers.makePrimary(node)
        let store = try await PostgresStore.open(url: node.address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        let byHand = "SELECT penstock.penstock_enqueue('mail', 'by hand')::text"
        #expect(try await enqueue("first", store).sequence == SequenceNumber(1))
        try await servers.stop(node)
        try await servers.start(node)
        #expect(try await servers.ask(node, byHand) == ["2"])
        try await servers.stopAtOnce(node)
        try await servers.start(node)
        // The store was not the first to come, and finds that the numbers have jumped.
        #expect(try await servers.ask(node, byHand) == ["\((1 << 32) + 3)"])
        #expect(try await enqueue("last", store).sequence == SequenceNumber((1 << 32) + 4))
        try await store.close()
    }

    @Test func aServerThatSaysNothingHoldsNobodyUp() async throws {
        let server = try PostgresServer.shared.get()
        let silent = try Relay(to: server.socketPath)
        silent.standStill(true)
        let address = url.replacing("?host=", with: "?host=127.0.0.1,").appending("&port=\(silent.port),5432")
        // To make the tables takes its time.
        try await open().close()
        let start = ContinuousClock.now
        let store = try await PostgresStore.open(url: address)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        // libpq waits five seconds for each of its connections.
        #expect(ContinuousClock.now - start < .seconds(8))
        _ = try await enqueue("there", store)
        try await store.close()
    }

    /// Those who come behind others that have found out do not all find out again, one after the other.
    @Test func manyWhoReadFromASilentServerHearOfItTogether() async throws {
        let server = try PostgresServer.shared.get()
        let relay = try Relay(to: server.socketPath)
        let store = try await PostgresStore.open(url: relay.url(url))
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        relay.standStill(true)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...20 {
                group.addTask {
                    let error = await #expect(throws: PenstockError.self) { try await store.status(of: nil) }
                    #expect(error?.code == .unreachable)
                }
            }
            try await group.waitForAll()
        }
        // The first four find out, in ten seconds at most; the others wait for them.
        #expect(ContinuousClock.now - start < .seconds(35))
        relay.standStill(false)
        #expect(try await store.status(of: nil).queues.map(\.name) == [queue])
        try await store.close()
    }

    @Test func aRefusedConnectionSaysWhyAndHasNoPassword() async throws {
        let absent = url.replacing("penstock@/postgres", with: "penstock:secretword@/nothere")
        let failure = await #expect(throws: PenstockError.self) { try await PostgresStore.open(url: absent) }
        #expect(failure?.code == .notFound)
        #expect(!"\(String(describing: failure))".contains("secretword"))
        let split = await #expect(throws: PenstockError.self) {
            try await PostgresStore.open(url: "postgres://penstock:pass@secretword@host/shop")
        }
        #expect(split?.code == .invalidInput)
        #expect(!"\(String(describing: split))".contains("secretword"))
    }

    @Test(arguments: ["a\"b.c d'e;--", "$$ä\\ '' %", "Größe \u{1F4EE}"])
    func anyNameOfASchemaIsOne(_ name: String) async throws {
        let encoded = name.utf8.map { String(format: "%%%02X", $0) }.joined()
        let url = self.url.replacing("schema=\(address.schema)", with: "schema=\(encoded)")
        let store = try await PostgresStore.open(url: url)
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        let admin = try Sessions.connect(to: ServerAddress(url), busyMax: .seconds(30))
        try admin.run("SELECT penstock_enqueue('mail', 'by hand')")
        #expect(try await enqueue("by the store", store).sequence == SequenceNumber(2))
        #expect(try await store.claim(ClaimRequest(queue: queue, limit: 5, lease: .seconds(60))).messages.count == 2)
        try await store.close()
    }

    @Test func rowsOfWritersThatEndedLongAgoAreRemoved() async throws {
        let first = try await open()
        let admin = try Sessions.connect(to: address, busyMax: .seconds(30))
        try admin.run("INSERT INTO penstock_writer VALUES (7, 1, penstock_now() - 90000000000), (8, 1, penstock_now())")
        let second = try await open()
        #expect(try admin.run("SELECT 1 FROM penstock_writer WHERE id = 7").rowCount == 0)
        try await first.close()
        try await second.close()
        #expect(try admin.run("SELECT id FROM penstock_writer").rowCount == 1)
    }

    /// Where the server was found last is asked first, so that nobody waits for one that is silent before one that was promoted.
    @Test func placesAreAskedInTurn() throws {
        let folder = try #require(
            URLComponents(string: PostgresServer.newURL())?.queryItems?.first { $0.name == "host" }?.value)
        let hosts = "postgres://penstock@/postgres?host=/nowhere,\(folder)"
        func places(_ address: ServerAddress) -> [String?] { address.hostsInTurn.map { $0.parameters["host"] } }
        let address = try ServerAddress(hosts)
        #expect(places(address) == ["/nowhere", folder])
        let server = try ServerConnection(address)
        #expect(places(address) == [folder, "/nowhere"])
        // A server that can only be read is not the one, whatever the address allows.
        try server.run("BEGIN READ ONLY")
        #expect(throws: ServerError.self) { try server.run("CREATE TABLE penstock_none ()") }
        #expect(places(address) == ["/nowhere"])
        // Of servers to read from, the address says which is preferred.
        let readers = try ServerAddress(hosts, access: .readOnly)
        _ = try ServerConnection(readers)
        #expect(places(readers) == ["/nowhere", folder])
    }
}
