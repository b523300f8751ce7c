import Foundation
import Logging
import Penstock
import PenstockTestKit
import Testing

/// Parts of programs that documents show do what is said of them.
@Suite(.timeLimit(.minutes(5))) struct SnippetTests {
    private let time = ManualTime()

    private func store() -> PenstockStore {
        PenstockStore(InMemoryStore(time: time), options: .init(time: time))
    }

    private func inFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "app.db").path)
    }

    @Test func aMessageJoinsTheApplicationsTransaction() async throws {
        try await inFolder { path in
            // There is no table of persons in the new file, so the whole transaction comes to nothing.
            await #expect(throws: (any Error).self) { try await Readme.ownDatabase(path) }
            let store = try await PenstockStore.open(path: path)
            #expect(try await store.list(MessageQuery()).isEmpty)
            let queue = try await Readme.typedQueue(store)
            #expect(try await queue.status().depths.scheduled == 1)
            try await store.close()
        }
    }

    @Test func lookingSaysHowManyWait() async throws {
        try await inFolder { path in
            let store = try await PenstockStore.open(path: path)
            try await store.queue("tea", of: Int.self).enqueue(contentsOf: [1, 2])
            #expect(try await OperatingArticle().waiting(in: path) == ["tea": 2])
            try await store.close()
        }
    }

    @Test func aHandlersErrorsAreVerdicts() async throws {
        let store = store()
        let mails = try await store.queue("mails", of: Mail.self)
        try await mails.enqueue(contentsOf: [Mail(to: "ada@example.com"), Mail(to: "nobody")])
        try await Worker(mails, options: .init(drain: true), handler: WorkersArticle().work(on:)).run()
        let totals = try await mails.status().totals
        #expect(totals.done == 1)
        #expect(totals.dead == 1)
    }

    @Test func aHandlerHandsOnWhatItMade() async throws {
        let store = store()
        let photos = try await store.queue("photos", of: Photo.self)
        let (small, mails) = (try await store.queue("small", of: Photo.self), try await store.queue("m", of: Mail.self))
        try await photos.enqueue(Photo(owner: "ada@example.com"), options: .init(headers: ["trace": "42"]))
        let worker = WorkersArticle().stages(photos, small, mails)
        let run = Task { try await worker.run() }
        try await eventually { try await photos.status().totals.done == 1 }
        run.cancel()
        _ = await run.result
        #expect(try await store.list(MessageQuery(queue: small.name)).map(\.headers) == [["trace": "42"]])
        #expect(try await mails.status().depths.ready == 1)
    }

    @Test func anEnqueueOfWhichNobodyKnowsIsMadeAgain() async throws {
        let faulty = FaultyStore(InMemoryStore(time: time))
        let store = PenstockStore(faulty, options: .init(time: time))
        let orders = try await store.queue("orders", of: Order.self)
        faulty.fail(.enqueue, .after, with: PenstockError(.outcomeUnknown, "Nobody knows."))
        let receipt = try await ErrorsArticle().enqueueWithKey(Order(id: 7, item: "tea"), in: orders)
        #expect(receipt.skipped)
        #expect(try await orders.status().depths.ready == 1)
    }

    @Test func whatFoundNoRoomIsTold() async throws {
        let store = store()
        let policy = QueuePolicy(capacity: Capacity(2, whenFull: .wait))
        let orders = try await store.queue("orders", of: Order.self, policy: policy)
        let all = (1...3).map { Order(id: $0, item: "tea") }
        let article = ErrorsArticle()
        async let rest = article.enqueueAll(all, in: orders)
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(5))
        #expect(try await rest.map(\.id) == [3])
    }

    @Test func receiptsSayWhatTheyPromise() async throws {
        let store = store()
        let orders = try await store.queue("orders", of: Order.self)
        let samples = try await store.queue("samples", of: Double.self)
        try await ErrorsArticle().record(Order(id: 1, item: "tea"), 0.5, orders, samples)
        #expect(try await samples.status().depths.ready == 1)
    }

    @Test func bookingsOfAnAccountAreInOrder() async throws {
        let store = store()
        let article = GroupsArticle()
        try await article.book([("a", 1), ("a", 2), ("b", 3)].map { Booking(account: $0, cents: $1) }, in: store)
        let bookings = try await store.queue("bookings", of: Booking.self)
        #expect(try await bookings.status().policy.groups == .fifo(onDead: .hold))
        #expect(try await bookings.groups().map(\.blocked) == [1, 0])
        try await article.hold("a", of: bookings)
        let raw = try await store.queue("bookings")
        try await article.share(store, among: [raw])
        #expect(try await store.limits().map(\.queues) == [[bookings.name]])
        let status = try await bookings.status()
        #expect(status.depths.ready == 2)
        #expect(status.depths.blocked == 1)
        #expect(status.policy.groups == .fifo(onDead: .hold))
    }

    @Test func aServerThatWantsToBeLeftAloneIs() async throws {
        let mail = try await store().queue("mail", of: String.self)
        var article = RatesArticle()
        try await article.limit(mail)
        for text in ["one", "two"] { try await mail.enqueue(text, options: .init(group: "ada")) }
        article.answer = RatesArticle.Answer(status: 429, retryAfter: 60)
        let worker = Worker(mail, options: .init(drain: true)) { [article] in try await article.send($0) }
        try await worker.run()
        let status = try await mail.status()
        #expect(status.policy.ratePerKey == Rate(5, per: .seconds(60)))
        #expect(status.depths.scheduled == 1)
        #expect(status.depths.blocked == 1)
    }

    @Test func theKitsStoreTakesMessages() async throws {
        let queue = try await TestKitArticle.store().queue("q", of: Int.self)
        #expect(try await queue.enqueue(1).state == .ready)
    }
}
