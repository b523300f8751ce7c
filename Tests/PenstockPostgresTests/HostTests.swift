import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What the stores of one machine have in common: they wake each other without the server, and one of them hears it for all.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct HostTests {
    let url: String
    let address: ServerAddress
    let jobs: QueueName
    let server: ServerConnection

    init() async throws {
        let schema = try await ClosedSchema()
        (url, address, jobs, server) = (schema.url, schema.address, schema.jobs, schema.server)
    }

    /// How many sessions the server's notifications of this store wake.
    private func listenerCount() throws -> Int32 {
        try server.run(
            """
            SELECT 1 FROM pg_locks WHERE \(Sessions.isHeld(Sessions.listenerLockClass)) AND objid = 0
            """
        ).rowCount
    }

    private func waiting(_ count: Int) async throws -> [PostgresStore] {
        var stores: [PostgresStore] = []
        for _ in 0..<count {
            let store = try await PostgresStore.open(url: url)
            let changes = store.changes
            _ = changes
            stores.append(store)
        }
        for store in stores { try await eventually { store.lookInterval == .seconds(60) } }
        return stores
    }

    @Test func oneProcessHearsTheServerForAllAndAnotherOneTakesOver() async throws {
        var stores = try await waiting(3)
        try await eventually { try listenerCount() == 1 }
        // One that is closed hears no more, though somebody has it still.
        var closed: [PostgresStore] = []
        for left in [2, 1] {
            closed.append(stores.removeFirst())
            try await closed.last?.close()
            try await eventually { try listenerCount() == 1 }
            // What others than Penstock write is heard by whoever it is for.
            let tokens = stores.map { $0.changes.token(for: jobs) }
            try server.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
            for (store, token) in zip(stores, tokens) {
                try await eventually { store.changes.isRungForWork(in: jobs, after: token) }
            }
            #expect(stores.count == left)
        }
        try await stores[0].close()
        try await eventually { try listenerCount() == 0 }
    }

    /// A notification wakes each session that listens. Where no other machine does, none is sent.
    @Test func nothingIsSentWhereNobodyElseListens() async throws {
        let stores = try await waiting(2)
        let host = try #require(SameHost(server, address))
        // The first is sent, and says to the process that hears it that it was for nobody.
        _ = try await stores[1].enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        try await eventually {
            _ = try await stores[1].enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
            return host.listener.isAlone
        }
        let claimed = try await stores[0].claim(ClaimRequest(queue: jobs, limit: 100, lease: .seconds(30)))
        #expect(!claimed.messages.isEmpty)
        for store in stores { try await store.close() }
    }

    /// A session that hears the server's notifications as a process of another machine does.
    private func listening() throws -> ServerConnection {
        let far = try Sessions.connect(to: address, busyMax: .seconds(60))
        try far.run(
            """
            SELECT pg_advisory_lock_shared(('penstock_incarnation'::regclass::oid::bigint - 2147483648)::int, 0);
            LISTEN "penstock:\(address.schema)"
            """)
        return far
    }

    @Test func aMachineOfItsOwnIsTold() async throws {
        let stores = try await waiting(1)
        let far = try listening()
        _ = try await stores[0].enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        var heard: [String] = []
        try await eventually {
            try far.run("SELECT 1")
            heard += far.notifications(reads: true).map(\.payload)
            return !heard.isEmpty
        }
        let bucket = RingBucket.of(jobs)
        // Two machines of one address have folders of the same name.
        let number = try #require(SameHost(server, address)?.lock.slots?.number)
        #expect(heard.first == " \(String(number, radix: 16)):\(bucket)w1.\(RingBucket.tag(of: jobs))")
        // What it says is heard as well.
        let token = stores[0].changes.token(for: jobs)
        try far.run("SELECT pg_notify('penstock:\(address.schema)', ' far:\(bucket)w2.\(RingBucket.tag(of: jobs))')")
        try await eventually { stores[0].changes.isRungForWork(in: jobs, after: token) }
        // The name of a queue is one whatever it begins with.
        let odd = try QueueName("#1:3a")
        let oddToken = stores[0].changes.token(for: odd)
        try far.run("SELECT pg_notify('penstock:\(address.schema)', '\(odd)')")
        try await eventually { stores[0].changes.isRungForWork(in: odd, after: oddToken) }
        // What cannot be read wakes nobody, and stops nobody.
        for text in [" ", " :", " far:1x,,-1w,9999999999999999999w1", " far:\(bucket)w-5.99999999"] {
            try far.run("SELECT pg_notify('penstock:\(address.schema)', '\(text)')")
        }
        try far.run("SELECT pg_notify('penstock:\(address.schema)', ' far:\(bucket)a')")
        let last = stores[0].changes.token(for: jobs)
        try far.run("SELECT pg_notify('penstock:\(address.schema)', ' far:\(bucket)a')")
        try await eventually { stores[0].changes.isRungForWork(in: jobs, after: last) }
        try await stores[0].close()
    }

    /// What says that nobody else listens runs out, and is not said again.
    @Test func aMachineThatComesLaterIsToldOfAll() async throws {
        let stores = try await waiting(1)
        let host = try #require(SameHost(server, address))
        func put() async throws {
            _ = try await stores[0].enqueue([NewMessage(payload: [1])], to: jobs, durability: .processCrash)
        }
        try await eventually {
            try await put()
            return host.listener.isAlone
        }
        let far = try listening()
        var heard = 0
        func hasHeard(more count: Int) throws -> Bool {
            try far.run("SELECT 1")
            heard += far.notifications(reads: true).count
            return heard > count
        }
        try await eventually {
            try await put()
            return try hasHeard(more: 0) && !host.listener.isAlone
        }
        // For longer than the process leaves between two looks at other machines.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < ServerBell.lookEvery * 2 {
            let before = heard
            try await put()
            try await eventually { try hasHeard(more: before) }
        }
        try await stores[0].close()
    }

    /// What was told while nobody of this machine was connected the server does not tell again.
    @Test func whatNobodyHeardIsMadeGoodByARingForAll() async throws {
        let role = PostgresServer.newName()
        try server.run("CREATE ROLE \(role) LOGIN SUPERUSER")
        var options = PostgresStore.Options()
        options.hearsRingsAlone = true
        let store = try await PostgresStore.open(
            url: url.replacing("//penstock@", with: "//\(role)@"), options: options)
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        try server.run("ALTER ROLE \(role) NOLOGIN")
        try server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)'")
        try await eventually { try listenerCount() == 0 }
        let token = changes.token(for: jobs)
        try server.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
        try server.run("ALTER ROLE \(role) LOGIN")
        try await eventually { changes.isRungForWork(in: jobs, after: token) }
        try await store.close()
    }

    /// It may be stopped: nobody else hears the server, and each looks by itself.
    @Test func whatTheProcessThatListensDoesNotSeeOthersDo() async throws {
        let host = try #require(SameHost(server, address))
        #expect(host.listener.take())
        let store = try await PostgresStore.open(url: url)
        let changes = store.changes
        try await eventually { store.lookInterval == .seconds(60) }
        let token = changes.token(for: jobs)
        try server.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'a')")
        try await eventually { changes.isRungForWork(in: jobs, after: token) }
        #expect(try listenerCount() == 0)
        host.listener.release()
        try await store.close()
    }
}
