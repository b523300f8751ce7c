import Logging
import Penstock
import ServiceLifecycle
import UnixSignals

// Workers. Their reader has a way to send a mail.

private func send(_ mail: Mail) async throws {}

struct Photo: Codable, Sendable {
    var owner: String
}

private func shrink(_ photo: Photo) async throws -> Photo { photo }

private struct TooManyMails: Error {
    var pause: Duration
}

private func greet(_ user: Int) async throws {}
private func bill(_ invoice: Invoice) async throws {}

// shown
struct Welcome: MessageKind {
    static let kind = "welcome"
    var user: Int
}

struct Invoice: MessageKind {
    static let kind = "invoice"
    var cents: Int
}
// end

struct WorkersArticle {
    func kinds(_ jobs: Queue<[UInt8]>) async throws -> Worker<[UInt8]> {
        // shown
        try await jobs.enqueue(Welcome(user: 7))
        try await jobs.enqueue(Invoice(cents: 1200), options: .init(priority: 5))

        var handlers = Handlers()
        handlers.add(Welcome.self) { delivery in try await greet(delivery.payload.user) }
        handlers.add(Invoice.self) { delivery in try await bill(delivery.payload) }
        let worker = Worker(jobs, handlers: handlers, options: .init(concurrency: 8))
        // end
        return worker
    }

    struct Code: Codable, Sendable {
        var user: Int
        var text: String
    }

    // shown
    func signIn(_ user: Int, code: String, in codes: Queue<Code>) async throws {
        try await codes.enqueue(Code(user: user, text: code), options: .init(expiry: .after(.seconds(600))))
    }
    // end

    // shown
    func serve(_ mails: Queue<Mail>, logger: Logger) async throws {
        let worker = Worker(mails, options: .init(concurrency: 8, timeout: .seconds(30))) { delivery in
            try await send(delivery.payload)
        }
        let group = ServiceGroup(
            services: [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
    // end

    // shown
    func work(on delivery: Delivery<Mail>) async throws {
        guard delivery.payload.to.contains("@") else { throw Reject("this is no address") }
        do {
            try await send(delivery.payload)
        } catch let error as TooManyMails {
            throw RetryAfter(error.pause, reason: "the server asks for a pause")
        }
    }
    // end

    // shown
    func stages(_ photos: Queue<Photo>, _ thumbnails: Queue<Photo>, _ mails: Queue<Mail>) -> Worker<Photo> {
        Worker(photos) { delivery in
            let small = try await shrink(delivery.payload)
            try await delivery.done(then: [
                thumbnails.draft(small, options: .init(headers: delivery.headers)),
                mails.draft(Mail(to: small.owner)),
            ])
        }
    }
    // end

    // shown
    func serve(urgent: Queue<Mail>, others: Queue<Mail>) -> Worker<Mail> {
        Worker([urgent, others], order: .weighted([3, 1]), options: .init(concurrency: 8)) { delivery in
            try await send(delivery.payload)
        }
    }
    // end

    // shown
    func sum(_ numbers: [Int], in sums: Queue<[Int]>) async throws -> Int? {
        let receipt = try await sums.enqueue(numbers)
        return try await sums.result(of: receipt.sequence, as: Int.self, timeout: .seconds(10))
    }
    // end

    // shown
    func copy(_ pages: [String], for delivery: Delivery<Mail>) async throws {
        for (index, page) in pages.enumerated() {
            delivery.progress(Double(index) / Double(pages.count), page)
            try await send(delivery.payload)
        }
    }
    // end

    // shown
    func sendByHand(_ mails: Queue<Mail>) async throws {
        for try await delivery in mails.deliveries(inFlightMax: 2, lease: .seconds(60)) {
            try await send(delivery.payload)
            try await delivery.done()
        }
    }
    // end
}
