import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// How much is on its way into a log, however many threads send.
@Suite(.timeLimit(.minutes(5))) struct SenderRoomTests {
    private let room = SenderRoom()
    private let entered = Tally()

    /// Has threads ask for a place each, until they wait.
    private func wait(_ count: Int, bytes: Int) async throws {
        for _ in 0..<count {
            Thread.detachNewThread { [room, entered] in
                room.enter(bytes: bytes)
                entered.add()
            }
        }
        try await eventually { room.waitingCount == count }
    }

    @Test func aPlaceThatIsGivenCountsWithItsBytesBeforeTheNextOneIs() async throws {
        room.enter(bytes: Limits.stagedBytesMax)
        try await wait(3, bytes: Limits.stagedBytesMax)
        for left in [2, 1, 0] {
            room.leave(bytes: Limits.stagedBytesMax)
            #expect(room.waitingCount == left)
        }
        try await entered.wait(for: 3)
    }

    @Test func asManyGoOnAsHaveRoomTogether() async throws {
        room.enter(bytes: Limits.stagedBytesMax)
        try await wait(5, bytes: Limits.stagedBytesMax / 2)
        room.leave(bytes: Limits.stagedBytesMax)
        #expect(room.waitingCount == 3)
        for _ in 1...3 { room.leave(bytes: Limits.stagedBytesMax / 2) }
        try await entered.wait(for: 5)
    }
}
