import PenstockCore
import Testing

/// Lists of schedules.
extension ScheduleRules {
    static func pages(_ bench: Bench) async throws {
        let store = try await open(bench)
        for name in ["b", "a", "d", "c"] {
            try await store.schedule(ScheduleName(name), .put(.of("* * * * *"), replacing: false))
        }
        func names(after name: String? = nil, limit: Int) async throws -> [String] {
            let query = ScheduleQuery(after: name.map { ScheduleName(stored: $0) }, limit: limit)
            return try await store.schedules(page: query).map(\.name.text)
        }
        #expect(try await names(limit: 3) == ["a", "b", "c"])
        #expect(try await names(after: "c", limit: 3) == ["d"])
        #expect(try await names(after: "ab", limit: 1) == ["b"])
        #expect(try await names(after: "d", limit: 1) == [])
        await expect(.invalidInput) { try await store.schedules(page: ScheduleQuery(limit: 0)) }
    }
}
