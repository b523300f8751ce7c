import Foundation
import GRDB
import PenstockCore
import PenstockTestKit

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// A process that holds the writer lock and does with it what a test says, step by step, or dies.
final class LockHolder {
    let slots: WriterSlots
    private let path: String
    private let descriptor: Int32
    private var answers: [UInt64: [UInt8]] = [:]

    /// Takes the writer lock of the store at `path`.
    init(_ path: String) throws {
        self.path = path
        let folder = try SharedFolder(besideDatabaseAt: path)
        descriptor = try folder.open(folder.file("writer-lock"))
        guard let slots = WriterSlots(in: folder) else { throw CocoaError(.fileNoSuchFile) }
        self.slots = slots
        enter()
    }

    deinit {
        close(descriptor)
    }

    /// How many slots stand at `state`.
    func count(_ state: WriterSlots.State) -> Int {
        (0..<WriterSlots.count).count { slots.word(of: $0).state == state }
    }

    /// Returns once `count` stores wait for the lock, or have posted a request.
    func waitFor(_ count: Int = 1, _ state: WriterSlots.State = .posted) async throws {
        try await eventually { self.count(state) >= count }
    }

    /// Takes what is posted.
    func take() -> [WriterSlots.Taken] { slots.take(besides: nil) }

    /// Commits what a store would for `requests`, and their answers with it.
    ///
    /// - Parameter refusesAll: whether it refuses the first call of each, and carries out nothing.
    func commit(_ requests: [WriterSlots.Taken], refusesAll: Bool = false) throws {
        // A store that closes has the whole file to itself for a moment.
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.write { database in
            for request in requests {
                let calls = refusesAll ? [] : PostedCall.read(request.bytes, now: SystemTime().now)
                let receipts = try calls.map { call in
                    try call.messages.map { message in
                        try database.execute(
                            sql: "INSERT INTO penstock_messages (queue, payload) VALUES (?, ?)",
                            arguments: [call.queue.text, Data(message.payload)])
                        let sequence = try Int64.fetchOne(database, sql: "SELECT last_sequence FROM penstock_state")
                        return Receipt(
                            sequence: SequenceNumber(sequence ?? 0), state: .ready, durability: call.durability)
                    }
                }
                let answer = PostedAnswer.bytes(of: receipts, to: calls)
                answers[request.ticket] = answer
                try Answers(of: slots).write(
                    [RequestAnswer(slot: request.slot, ticket: request.ticket, bytes: answer)],
                    SQLiteConnection(database))
            }
        }
        try database.close()
    }

    /// Says that `requests` are committed, and what came of them.
    func finish(_ requests: [WriterSlots.Taken]) {
        for request in requests { slots.finish(request, answer: answers[request.ticket] ?? []) }
    }

    /// Lets go of the lock as a process that goes on does.
    func leave() {
        flock(descriptor, LOCK_UN)
        slots.ringNext(after: nil)
    }

    /// Loses the lock, and says nothing more.
    func die() {
        flock(descriptor, LOCK_UN)
    }

    /// Takes the lock, which is free or soon will be.
    func enter() {
        while flock(descriptor, LOCK_EX) != 0 {}
    }
}

extension LockHolder {
    /// Asks whether any process has the writer lock.
    final class Probe {
        private let descriptor: Int32

        init(_ path: String) throws {
            let folder = SharedFolder(existingBesideDatabaseAt: path)
            descriptor = try folder.open(folder.file("writer-lock"))
        }

        deinit {
            close(descriptor)
        }

        var isTaken: Bool {
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0 { return true }
            flock(descriptor, LOCK_UN)
            return false
        }
    }
}
