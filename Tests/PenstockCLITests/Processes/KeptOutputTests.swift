import Testing

@testable import PenstockCLI

/// What a command wrote, as its message's result.
@Suite struct KeptOutputTests {
    @Test func allOfItIsKeptUpToTheLast() {
        var kept = KeptOutput(bytesMax: 10)
        for _ in 1...5 { kept.append([1, 2]) }
        #expect(kept.bytes == [1, 2, 1, 2, 1, 2, 1, 2, 1, 2] && !kept.isTooLong)
        kept.append([])
        #expect(kept.bytes.count == 10 && !kept.isTooLong)
    }

    @Test func ofTooMuchNothingIsKept() {
        var kept = KeptOutput(bytesMax: 10)
        for _ in 1...6 { kept.append([1, 2]) }
        #expect(kept.bytes.isEmpty && kept.isTooLong)
        // A later piece would fit.
        kept.append([1])
        #expect(kept.bytes.isEmpty && kept.isTooLong)
    }

    /// A million bytes in a thousand pieces.
    @Test func aPieceDoesNotMoveWhatIsThere() {
        var kept = KeptOutput(bytesMax: 1_000_000)
        var moves = 0
        var last: UInt = 0
        for _ in 1...1000 {
            kept.append([UInt8](repeating: 1, count: 1000))
            let place = kept.bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            if place != last { moves += 1 }
            last = place
        }
        #expect(kept.bytes.count == 1_000_000)
        #expect(moves < 50, "It was moved \(moves) times.")
    }
}
