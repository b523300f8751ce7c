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

struct WorkersArticle {
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
