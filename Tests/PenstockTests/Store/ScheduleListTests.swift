import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Lists of schedules, as the command, the server and the dashboard make them of a store's pages.
@Suite(.timeLimit(.minutes(5))) struct ScheduleListTests {
    private let the = Fixture()

    /// A store at a server gives all its schedules for each page.
    @Test func aListThatFitsIsReadOnce() async throws {
        _ = try await the.store.queue("jobs")
        for number in 1...5 {
            let schedule = Schedule(queue: try QueueName("jobs"), spec: "@daily", message: NewMessage(payload: [1]))
            try await the.store.storage.schedule(ScheduleName("s\(number)"), .put(schedule, replacing: false))
        }
        let before = the.calls.calls(of: .schedules).count
        let all = try await the.store.storage.schedules(after: nil, limit: 100)
        #expect(all.records.map(\.name.text) == ["s1", "s2", "s3", "s4", "s5"] && !all.isMore)
        // Those that are passed over cost no page each.
        let one = try await the.store.storage.schedules(after: nil, limit: 1) { $0.name.text == "s5" }
        #expect(one.records.map(\.name.text) == ["s5"] && !one.isMore)
        let two = try await the.store.storage.schedules(after: try ScheduleName("s1"), limit: 2)
        #expect(two.records.map(\.name.text) == ["s2", "s3"] && two.isMore)
        #expect(the.calls.calls(of: .schedules).count == before + 3)
    }
}
