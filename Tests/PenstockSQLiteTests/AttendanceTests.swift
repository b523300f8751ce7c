import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Where a worker is at work and has room, nobody is woken; and nobody is forgotten for that.
@Suite(.timeLimit(.minutes(5))) struct AttendanceTests {
    private let folder = TemporaryFolder()
    private let time = ManualTime()
    private let bucket = RingBucket.of(.jobs)
    private var path: String { folder.file("queue.db") }

    private func ear() throws -> Ear { try Ear(path, time: time) }

    private func bell() throws -> Doorbell { try Doorbell(SharedFolder(besideDatabaseAt: path), time: time) }

    /// Whether somebody was woken since this was last asked.
    private func wasWoken() throws -> Bool {
        let file = try FileHandle(
            forUpdating: URL(
                fileURLWithPath: SharedFolder(existingBesideDatabaseAt: path).file(DoorbellBoard.layout.fileName)))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(DoorbellBoard.touchedByte))
        let byte = try file.read(upToCount: 1)
        try file.seek(toOffset: UInt64(DoorbellBoard.touchedByte))
        try file.write(contentsOf: [0])
        return byte != Data([0])
    }

    /// Two queues of one bucket ring together, and one of them has messages.
    @Test(arguments: [true, false]) func aRingTellsWhoseMessagesItIsAbout(areFirst: Bool) {
        let (messages, room) = (Ring(messages: 1, tag: 1), Ring(tag: 2))
        var ring = areFirst ? messages : room
        ring.add(areFirst ? room : messages)
        #expect(ring == messages)
    }

    /// Has `ear` attend: a worker of it is at work when it hears a ring.
    private func haveAttend(_ ear: Ear, _ bell: Doorbell) throws {
        ear.doorbell.claim(at: bucket, isAllThatThereWas: true)
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try wasWoken())
        ear.watch.hear()
        #expect(ear.watch.isAttending)
        #expect(ear.doorbell.board.take(1, at: bucket) == 1, "Nobody waited for it.")
    }

    /// Waits for work, with room for five.
    private func waiter(_ ear: Ear) async throws -> Task<Void, any Error> {
        let (wakeups, token) = (ear.wakeups, ear.wakeups.token(for: .jobs))
        let task = Task { try await wakeups.waitForWork(in: .jobs, after: token, room: 5) }
        try await wakeups.waitForWaiters()
        return task
    }

    @Test func whoAttendsIsNotWokenAndHasWhatIsAnnounced() async throws {
        let (busy, idle, bell) = (try ear(), try ear(), try bell())
        try haveAttend(busy, bell)
        let waiting = (try await waiter(busy), try await waiter(idle))
        bell.ring([(bucket, Ring(messages: 3))])
        #expect(try !wasWoken())
        idle.watch.hear()
        #expect(idle.wakeups.waiterCount == 1, "It leaves them to the other one.")
        busy.watch.attend()
        try await waiting.0.value
        // Everybody is woken for what concerns everybody.
        bell.ring([(bucket, Ring(isForAll: true))])
        #expect(try wasWoken())
        idle.watch.hear()
        try await waiting.1.value
    }

    @Test func oneMessageNowAndThenIsNotAttended() async throws {
        let (one, bell) = (try ear(), try bell())
        for _ in 1...3 {
            let waiting = try await waiter(one)
            bell.ring([(bucket, Ring(messages: 1))])
            #expect(try wasWoken())
            one.watch.hear()
            try await waiting.value
            #expect(!one.watch.isAttending)
            time.advance(by: .milliseconds(20))
        }
    }

    @Test func whoIsQuietLeavesAndPassesOn() async throws {
        let (busy, idle, bell) = (try ear(), try ear(), try bell())
        try haveAttend(busy, bell)
        let waiting = try await waiter(idle)
        time.advance(by: .milliseconds(3))
        busy.doorbell.claim(at: bucket, isAllThatThereWas: true)
        time.advance(by: .milliseconds(3))
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try !wasWoken(), "The claim is not long ago.")
        idle.watch.hear()
        busy.watch.attend()
        #expect(idle.wakeups.waiterCount == 1)
        time.advance(by: .milliseconds(3))
        #expect(bell.attendedTag(at: bucket) == nil)
        busy.watch.attend()
        #expect(!busy.watch.isAttending)
        #expect(try wasWoken())
        idle.watch.hear()
        try await waiting.value
    }

    @Test func whoLeavesNothingBehindWakesNobody() throws {
        let (busy, bell) = (try ear(), try bell())
        try haveAttend(busy, bell)
        time.advance(by: .milliseconds(10))
        busy.watch.attend()
        #expect(!busy.watch.isAttending)
        #expect(try !wasWoken())
    }

    @Test func whoHasNoRoomLeftPassesOnAtOnce() async throws {
        let (full, idle, bell) = (try ear(), try ear(), try bell())
        try haveAttend(full, bell)
        let waiting = try await waiter(idle)
        bell.ring([(bucket, Ring(messages: 2))])
        full.doorbell.claim(at: bucket, isAllThatThereWas: false)
        #expect(try wasWoken())
        #expect(!full.watch.isAttending)
        idle.watch.hear()
        try await waiting.value
    }

    @Test func theEndOfAStoreIsTheEndOfItsAttendance() throws {
        let (busy, bell) = (try ear(), try bell())
        try haveAttend(busy, bell)
        bell.ring([(bucket, Ring(messages: 2))])
        busy.watch.end()
        #expect(try wasWoken())
        #expect(bell.attendedTag(at: bucket) == nil)
    }

    /// A killed process says nothing. Its word runs out.
    @Test func theWordOfADeadProcessRunsOut() throws {
        let bell = try bell()
        let listening = try ear()
        defer { listening.watch.end() }
        let now = time.boot
        bell.board.attend(bucket, until: now + DoorbellBoard.attendanceMax, tag: 0)
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try !wasWoken())
        time.advance(by: DoorbellBoard.attendanceMax)
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try wasWoken())
        // From before the machine started, when its clock was further on.
        bell.board.attend(bucket, until: time.boot + .seconds(3600), tag: 0)
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try wasWoken())
    }

    /// A reader that follows the log is told of every message, whichever process attends.
    @Test func whoWaitsForNewsIsWokenAllTheSame() async throws {
        let (busy, reader, bell) = (try ear(), try ear(), try bell())
        try haveAttend(busy, bell)
        let wakeups = reader.wakeups
        let token = wakeups.token(for: .jobs)
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try !wasWoken(), "Nobody follows yet.")
        async let news: Void = wakeups.wait(for: .jobs, after: token)
        try await wakeups.waitForWaiters()
        #expect(try wasWoken(), "What was rung for since it looked is heard.")
        reader.watch.hear()
        try await news
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(try wasWoken())
    }

    /// Two queues may share a bucket. A worker of one of them takes nothing from the other's.
    @Test func whoAttendsForAnotherQueueIsNoReasonToSleep() async throws {
        let (busy, idle, bell) = (try ear(), try ear(), try bell())
        try haveAttend(busy, bell)
        let waiting = (try await waiter(busy), try await waiter(idle))
        bell.ring([(bucket, Ring(messages: 1, tag: 7))])
        #expect(try wasWoken())
        busy.watch.attend()
        idle.watch.hear()
        try await waiting.0.value
        try await waiting.1.value
    }

    @Test func aClaimIsLeftToWhoAttendsIfTheWorkerSaysSo() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try Doorbell(SharedFolder(besideDatabaseAt: path))
        var request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))
        request.leavesToOthers = true
        try await store.put(.text("first"))
        try await store.put(.text("second"))
        var held = try await store.take(1)
        // The attendance is by the real clock here, and may be over before the claim.
        while let lease = held.first?.lease {
            other.board.attend(
                bucket, until: SystemTime().boot + DoorbellBoard.attendanceMax, tag: RingBucket.tag(of: .jobs))
            let performed = try await store.perform([.settle([Settlement(lease, .release)]), .claim(request)])
            guard case .claimed(let claim)? = performed.answers.last else {
                Issue.record("\(performed)")
                return
            }
            held = claim.messages
        }
        #expect(try await store.claim(request).messages.count == 1, "It has nothing to hand in: it was rung for.")
        try await store.close()
    }
}
