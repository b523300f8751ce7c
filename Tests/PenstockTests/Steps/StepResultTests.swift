import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What steps give: how it is written, and how much of it there may be.
@Suite(.timeLimit(.minutes(5))) struct StepResultTests {
    let the = Fixture()

    struct Broken: Error {}

    private func roundTrip<Value: Codable & Equatable>(_ value: Value, _ text: String? = nil) throws {
        let bytes = try ResultCodec.encode(value)
        if let text { #expect(String(decoding: bytes, as: UTF8.self) == text) }
        #expect(try ResultCodec.decode(bytes, as: Value.self, of: "it") == value)
    }

    @Test func onlyBytesAreWrittenAsTheyAre() throws {
        try roundTrip([0, 255] as [UInt8])
        try roundTrip([] as [UInt8], "")
        try roundTrip([] as [String], "[]")
        try roundTrip([] as [Int], "[]")
        try roundTrip(nil as [UInt8]?, "null")
        try roundTrip([] as [UInt8]?, "[]")
        try roundTrip([1, 2] as [UInt8]?, "[1,2]")
        try roundTrip([[1]] as [[UInt8]], "[[1]]")
        try roundTrip([] as [UInt8?], "[]")
        // What somebody else has written.
        #expect(try ResultCodec.decode(Array("null".utf8), as: [UInt8]?.self, of: "it") == nil)
        #expect(throws: PenstockError.self) { try ResultCodec.decode([], as: [String].self, of: "it") }
    }

    @Test func nothingAndEmptyListsComeBackFromTheRecord() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(1)
        let runs = Tally()
        for _ in 1...2 {
            try await the.drain(queue) { delivery in
                let bytes = try await delivery.step("bytes") { nil as [UInt8]? }
                #expect(bytes == nil)
                let words = try await delivery.step("words") { [] as [String] }
                #expect(words == [])
                if runs.add() == 1 { throw Broken() }
            }
            the.time.advance(by: .seconds(600))
        }
        #expect(runs.count == 2)
    }

    // MARK: Bounds

    @Test func aStepThatGivesTooMuchMakesADeadLetter() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { delivery in
            _ = try await delivery.step("s") {
                taken.add()
                return [UInt8](repeating: 0, count: Limits.resultBytesMax + 1)
            }
        }
        let record = try await the.record(receipt)
        #expect((record.state, taken.count) == (.dead, 1))
        #expect(record.attempts.last?.error.contains("resultBytesMax") == true)
    }

    /// It did its work, and would do it again in each attempt.
    @Test func aStepThatGivesWhatCannotBeWrittenMakesADeadLetter() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { delivery in
            _ = try await delivery.step("charge") {
                taken.add()
                return Double.nan
            }
        }
        let record = try await the.record(receipt)
        #expect((record.state, taken.count) == (.dead, 1))
        #expect(record.attempts.last?.error.contains("cannot be written as JSON") == true)
    }

    @Test func whereNoMoreStepsFitNoneIsTaken() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { [the] delivery in
            for number in 1...Limits.stepCountMax { try await delivery.step("s\(number)") {} }
            #expect(await the.code { try await delivery.step("more") { _ = taken.add() } } == .invalidInput)
        }
        #expect(taken.count == 0)
        #expect(try await the.store.journal(of: receipt.sequence).steps.count == Limits.stepCountMax)
    }

    @Test func whereNoMoreBytesFitNoStepIsTaken() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { [the] delivery in
            let large = [UInt8](repeating: 0, count: Limits.resultBytesMax)
            for number in 1...(Limits.journalBytesMax / Limits.resultBytesMax) {
                _ = try await delivery.step("s\(number)") { large }
            }
            #expect(await the.code { try await delivery.step("more") { _ = taken.add() } } == .invalidInput)
        }
        #expect(taken.count == 0)
    }
}
