import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Token, look and wait against rings, tens of thousands of times.
@Suite(.timeLimit(.minutes(5))) struct RingRaceTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    /// Each goes on when it has heard from the other: token, look, wait. One ring lost, and both sleep for ever, as
    /// nothing is written that a look would see.
    @Test func noRingIsLostInThirtyThousandRounds() async throws {
        let rounds = 30_000
        let turn = Turn()
        let side = try await quietFolder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for player in 0...1 {
                let doorbell = try Doorbell(side)
                let wakeups = doorbell.wakeups
                let listener = ChangeListener(database: path, folder: side, doorbell: doorbell) {
                    ChangePoller(path: path, folder: side, time: SystemTime())
                }
                listener.start()
                group.addTask {
                    for _ in 1...rounds / 2 {
                        while true {
                            let token = wakeups.token(for: .jobs)
                            if turn.number % 2 == player { break }
                            try await wakeups.wait(for: .jobs, after: token)
                        }
                        turn.pass(1)
                        doorbell.ring([(RingBucket.of(.jobs), Ring())])
                    }
                    await listener.end()
                }
            }
            try await group.waitForAll()
        }
        #expect(turn.number == rounds)
    }

    /// One sends when the last message was taken; three wait to take it. When the ring for one is lost, nobody takes
    /// it, and all sleep for ever. Where they say that they are at work, one of them attends the bucket, and each round
    /// is one in which it may just be leaving, and not take the next message itself.
    @Test(arguments: [(30_000, false), (20_000, true)])
    func noMessageIsForgotten(rounds: Int, areAtWork: Bool) async throws {
        let (line, taken) = (Turn(), Taken())
        let side = try await quietFolder()
        let bucket = RingBucket.of(.jobs)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...3 {
                let doorbell = try Doorbell(side)
                let wakeups = doorbell.wakeups
                let listener = ChangeListener(database: path, folder: side, doorbell: doorbell) {
                    ChangePoller(path: path, folder: side, time: SystemTime())
                }
                listener.start()
                group.addTask {
                    while taken.count < rounds {
                        let token = wakeups.token(for: .jobs)
                        let announced = doorbell.board.word(at: bucket)
                        let hasTaken = line.takeOne()
                        let number = hasTaken ? taken.add() : 0
                        // Now and then the one that took a message has no room left, and leaves the next to the others.
                        let hasRoom = !hasTaken || number % 7 != 0 || number == rounds
                        if areAtWork { doorbell.claim(at: bucket, isAllThatThereWas: hasRoom) }
                        if areAtWork, !hasRoom { await taken.wait(for: number + 1) }
                        if !hasTaken {
                            doorbell.board.clear(bucket, ifStill: announced)
                            if taken.count < rounds { try await wakeups.waitForWork(in: .jobs, after: token) }
                        }
                    }
                    await listener.end()
                }
            }
            let producer = try Doorbell(side)
            for number in 1...rounds {
                line.pass(1)
                producer.ring([(bucket, Ring(messages: 1))])
                await taken.wait(for: number)
            }
            producer.ring([(bucket, Ring(isForAll: true))])
            try await group.waitForAll()
        }
        #expect((line.number, taken.count) == (0, rounds))
    }

    /// The folder of a store in which nothing happens any more.
    private func quietFolder() async throws -> SharedFolder {
        try await SQLiteStore.openWithJobs(path).close()
        return try SharedFolder(besideDatabaseAt: path)
    }

    private final class Turn: Sendable {
        private let value = Atomic(0)

        var number: Int { value.load(ordering: .sequentiallyConsistent) }

        func pass(_ count: Int) { value.wrappingAdd(count, ordering: .sequentiallyConsistent) }

        func takeOne() -> Bool {
            var old = number
            while old > 0 {
                let (done, now) = value.compareExchange(
                    expected: old, desired: old - 1, ordering: .sequentiallyConsistent)
                if done { return true }
                old = now
            }
            return false
        }
    }
}
