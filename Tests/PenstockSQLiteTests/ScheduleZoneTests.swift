import Foundation
import GRDB
import PenstockCore
import PenstockSchedules
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Schedules on machines that have no data of their zone, or other data than the rest.
@Suite struct ScheduleZoneTests {
    private let jobs = QueueName(stored: "jobs")
    private let name = ScheduleName(stored: "s")

    private let harness = SQLiteHarness()

    /// What the folder of time zones lacks on one of the machines.
    enum Lack: CaseIterable {
        case all
        /// The zone had another name when the data was made.
        case theZone
        /// An update was cut short.
        case itsEnd

        func folder() throws -> TemporaryFolder {
            let folder = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: folder.file("Europe"), withIntermediateDirectories: true)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/Europe/Paris"))
            switch self {
            case .all: break
            case .theZone: try bytes.write(to: URL(fileURLWithPath: folder.file("Europe/London")))
            case .itsEnd: try bytes.dropLast(100).write(to: URL(fileURLWithPath: folder.file("Europe/Paris")))
            }
            return folder
        }
    }

    private func open() async throws -> SQLiteStore {
        let store = try await harness.openStore()
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: false))
        return store
    }

    private func put(_ store: SQLiteStore) async throws -> ScheduleRecord? {
        var schedule = Schedule(queue: jobs, spec: "* * * * *", message: NewMessage(payload: [1]))
        schedule.zone = "Europe/Paris"
        return try await store.schedule(name, .put(schedule, replacing: true))
    }

    @Test func aLookThatFailedIsDueAgain() async throws {
        let store = try await open()
        try await store.close()
        await #expect(throws: PenstockError.self) { try await store.fire() }
        #expect(store.core.surveyTime.isDue(by: harness.time))
        #expect(!store.core.surveyTime.isDue(by: harness.time))
    }

    @Test("A machine that cannot read the zone leaves the schedule to others", arguments: Lack.allCases)
    func leftToOthers(_ lack: Lack) async throws {
        let store = try await open()
        let folder = try lack.folder()
        /// What a process of that machine does.
        func fireThere() async throws {
            let path = folder.path
            let hasMore = try await store.core.writer.perform { transaction in
                let zones = ZoneReader(ZoneFolder(paths: [path]))
                try FiringSurvey.perform(zones, in: transaction)
                return try Firing.fireDue(of: nil, zones, in: transaction)
            }
            #expect(!hasMore, "It would try without end.")
        }
        let due = try #require(try await put(store)?.nextDue)
        harness.time.advance(to: due)
        for _ in 1...2 {
            try await fireThere()
            let left = try #require(try await store.schedules(name).first)
            #expect(left.nextDue == due && left.firedCount == 0 && left.problem != nil)
        }
        #expect(try await store.fire() == due + .seconds(60))
        let fired = try #require(try await store.schedules(name).first)
        #expect(fired.firedCount == 1 && fired.missedCount == 0 && fired.problem == nil)
        // Nor is it the end of one that nobody has reckoned yet.
        let pool = try DatabasePool(path: harness.path)
        try await pool.write { try $0.execute(sql: "UPDATE penstock_schedule SET next_due = NULL") }
        try await fireThere()
        #expect(try await store.schedules(name).first?.isReckoned == false)
        #expect(try await store.fire() == due + .seconds(60))
        try await store.close()
    }

    @Test("Those that are left to other machines are not in the way of others", arguments: [false, true])
    func notInTheWay(areReckoned: Bool) async throws {
        let store = try await open()
        let due = try #require(try await put(store)?.nextDue)
        let pool = try DatabasePool(path: harness.path)
        // More than one transaction looks at, and all before the one that can fire.
        try await pool.write {
            try $0.execute(
                sql: """
                    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n <= ?)
                    INSERT INTO penstock_schedule (name, queue_id, spec, zone, payload, next_due, anchor)
                    SELECT 'left ' || n, queue_id, spec, 'Nowhere/Land', payload, ?, anchor FROM penstock_schedule, number
                    """, arguments: [Firing.stepMax, areReckoned ? 1 : nil])
        }
        harness.time.advance(to: due)
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 5, lease: .seconds(30)))
        #expect(claim.messages.count == 1)
        try await store.close()
    }

    @Test("A name that no zone can have is the end of it")
    func impossibleName() async throws {
        let store = try await open()
        let pool = try DatabasePool(path: harness.path)
        try await pool.write {
            try $0.execute(
                sql: "INSERT INTO penstock_schedules (name, queue, spec, zone, payload) "
                    + "VALUES ('s', 'jobs', '@daily', '../UTC', 'x')")
        }
        #expect(try await store.fire() == nil)
        let record = try #require(try await store.schedules(name).first)
        #expect(record.isReckoned && record.nextDue == nil && record.problem?.contains("IANA") == true)
        try await store.close()
    }

    @Test("One that was given up is begun anew when it is said again")
    func saidAgain() async throws {
        let store = try await open()
        let due = try #require(try await put(store)?.nextDue)
        let pool = try DatabasePool(path: harness.path)
        try await pool.write {
            try $0.execute(
                sql:
                    "UPDATE penstock_schedule SET next_due = ?, reckoned_from = NULL, problem = 'There is no such zone.'",
                arguments: [Int64.max])
        }
        #expect(try await store.fire() == nil)
        let again = try #require(try await put(store))
        #expect(again.nextDue == due && again.problem == nil)
        try await store.close()
    }
}
