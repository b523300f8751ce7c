import Penstock

// Rates and fair sharing. Their reader sends mail through a server that limits its callers.

struct RatesArticle {
    struct Answer {
        var status: Int
        var retryAfter: Int?
    }

    var answer = Answer(status: 200)

    func post(_ letter: String) async throws -> Answer { answer }

    // shown
    func limit(_ mail: Queue<String>) async throws {
        try await mail.changePolicy { policy in
            policy.rate = Rate(100, per: .seconds(1), burst: 20)
            policy.groups = .limit(3)
            policy.ratePerKey = Rate(5, per: .seconds(60))
        }
    }
    // end

    // shown
    func send(_ delivery: Delivery<String>) async throws {
        let answer = try await post(delivery.payload)
        if answer.status == 429 {
            throw RetryAfter(.seconds(answer.retryAfter ?? 30), reason: "asked to wait", holdsGroup: true)
        }
    }
    // end
}
