import Penstock

// Schedules. Their reader has reports to make.

struct Report: Codable, Sendable {
    var subject: String

    init(of subject: String) {
        self.subject = subject
    }
}

struct SchedulesArticle {
    // shown
    func plan(_ reports: Queue<Report>) async throws {
        try await reports.schedule("nightly", "0 3 * * *", zone: "Europe/Paris", Report(of: "sales"))
        try await reports.schedule(
            "poll", "@every 90s", Report(of: "visitors"),
            options: .init(message: .init(uniqueKey: UniqueKey("poll")), missed: .skip, jitter: .seconds(10)))
    }
    // end
}
