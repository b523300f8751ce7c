import PenstockTestKit
import Testing

@testable import PenstockProcesses

/// Which of the processes that wait for the writer lock is woken.
@Suite struct WriterSlotsTests {
    private let folder = TemporaryFolder()

    private func makeSlots(_ states: [Int: WriterSlots.State]) throws -> WriterSlots {
        let side = try SharedFolder(besideDatabaseAt: folder.file("queue.db"))
        let slots = try #require(WriterSlots(in: side))
        for (slot, state) in states { slots.set(slot, to: WriterSlots.Word(ticket: 1, state: state)) }
        return slots
    }

    /// The slots that the process at `slot` wakes as it lets go of the lock.
    private func rung(after slot: Int?, in slots: WriterSlots) -> [Int] {
        let all = 0..<WriterSlots.count
        let before = all.map { slots.ringCount(of: $0) }
        slots.ringNext(after: slot)
        return all.filter { slots.ringCount(of: $0) != before[$0] }
    }

    /// A process in a high slot waits no longer than one in a low slot.
    @Test func theLockGoesRound() throws {
        let slots = try makeSlots([3: .waiting, 9: .posted, 40: .waiting])
        #expect(rung(after: nil, in: slots) == [3])
        #expect(rung(after: 3, in: slots) == [9])
        #expect(rung(after: 9, in: slots) == [40])
        #expect(rung(after: 40, in: slots) == [3])
        #expect(rung(after: WriterSlots.count - 1, in: slots) == [3])
    }

    /// Neither is one woken whose call is in another one's hands, nor one that does not wait.
    @Test func whatWaitsForNoLockSleepsOn() throws {
        let slots = try makeSlots([3: .taken, 5: .done, 6: .free])
        #expect(rung(after: nil, in: slots) == [])
        #expect(rung(after: 4, in: slots) == [])
    }
}
