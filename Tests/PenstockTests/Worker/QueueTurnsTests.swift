import PenstockTestKit
import Testing

@testable import Penstock

/// Whose turn it is among a worker's queues, without a store.
@Suite struct QueueTurnsTests {
    /// Messages begin one at a time: which queue each is of.
    private func starts(
        _ count: Int, _ turns: inout QueueTurns, among hasMore: (_ start: Int) -> [Bool]
    ) -> [Int] {
        (0..<count).flatMap { turns.order(turns.shares(of: 1, among: hasMore($0))) }
    }

    @Test func strictTakesFromTheFirstThatHasSome() {
        var turns = QueueTurns(.strict, count: 3)
        #expect(turns.shares(of: 4, among: [true, true, true]) == [4, 0, 0])
        #expect(turns.shares(of: 4, among: [false, true, true]) == [0, 4, 0])
        #expect(turns.shares(of: 4, among: [false, false, false]) == [0, 0, 0])
        #expect(turns.order([2, 0, 3]) == [0, 0, 2, 2, 2])
    }

    @Test func ofFourStartsThreeAreOfWeightThree() {
        var turns = QueueTurns(.weighted([3, 1]), count: 2)
        #expect(starts(13, &turns) { _ in [true, true] } == [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    }

    @Test func equalWeightsTakeTurns() {
        var turns = QueueTurns(.weighted([7, 7, 7]), count: 3)
        #expect(starts(7, &turns) { _ in [true, true, true] } == [0, 1, 2, 0, 1, 2, 0])
    }

    /// A queue that was empty for long does not push the others aside when it has messages again.
    @Test func missedTurnsAreNotMadeUpFor() {
        var turns = QueueTurns(.weighted([1, 1]), count: 2)
        #expect(starts(100, &turns) { _ in [true, false] } == Array(repeating: 0, count: 100))
        #expect(starts(6, &turns) { _ in [true, true] }.count { $0 == 0 } == 3)
    }

    /// What is claimed in one call begins as what is claimed one by one, and a queue that had less than its share leaves the
    /// rest to the others.
    @Test func theOrderDoesNotDependOnTheSizeOfTheClaims() {
        var one = QueueTurns(.weighted([5, 2, 3]), count: 3)
        var many = one
        let all = [true, true, true]
        var begun: [Int] = []
        for room in [1, 7, 2, 30, 60] { begun += many.order(many.shares(of: room, among: all)) }
        #expect(begun == starts(100, &one) { _ in all })
        #expect(many.order([0, 2, 1]).sorted() == [1, 1, 2])
    }

    /// In every stretch of starts in which two queues have messages, their starts differ by no more than one turn of each.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func startsAreSharedByWeight(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let weights = (0..<random.next(in: 2...6)).map { _ in random.next(in: 1...20) }
        var turns = QueueTurns(.weighted(weights), count: weights.count)
        let all = weights.map { _ in true }
        // Any past: some of them had nothing at times.
        _ = starts(random.next(in: 0...50), &turns) { _ in all.map { _ in random.next(in: 0...1) == 0 } }
        let begun = starts(400, &turns) { _ in all }
        for from in stride(from: 0, to: 400, by: 7) {
            var counts = weights.map { _ in 0.0 }
            for next in begun[from...] {
                counts[next] += 1
                for one in weights.indices {
                    for other in weights.indices {
                        let (left, right) = (Double(weights[one]), Double(weights[other]))
                        let difference = counts[one] / left - counts[other] / right
                        #expect(abs(difference) <= 1 / left + 1 / right + 1e-6, "\(weights) from \(from)")
                    }
                }
            }
        }
    }

    /// However the others come and go, a queue that has messages all the time waits for no more of theirs than their weights allow.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func noQueueWaitsForLongerThanTheWeightsSay(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let weights = (0..<random.next(in: 2...6)).map { _ in random.next(in: 1...20) }
        var turns = QueueTurns(.weighted(weights), count: weights.count)
        let begun = starts(1000, &turns) { _ in weights.indices.map { $0 == 0 || random.next(in: 0...2) > 0 } }
        let bound = weights.dropFirst().reduce(0) { $0 + 1 + $1 / weights[0] }
        let waits = begun.split(separator: 0, omittingEmptySubsequences: false).map(\.count)
        #expect((waits.max() ?? 0) <= bound, "\(weights)")
    }
}
