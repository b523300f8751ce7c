import PenstockTestKit

/// Begins a stream and cancels its consumer ten thousand times, a hundred at once, at whatever moment that hits. Every
/// reader must return, and every iterator of the source that was made must be gone after it.
func raceCancellations<Source: Sendable, Failure: Error>(
    _ source: Source, made: Tally, gone: Tally, of operate: (Source) -> some AsyncSequence<Int, Failure> & Sendable
) async throws {
    let random = SeededRandom(seed: 7)
    for _ in 1...100 {
        let readers = (1...100).map { _ in
            let taken = random.next(in: 0...4)
            let sequence = operate(source)
            return Task {
                var iterator = sequence.makeAsyncIterator()
                for _ in 0..<taken {
                    if (try? await iterator.next(isolation: nil)) == nil { return }
                }
            }
        }
        for reader in readers {
            if random.chance(0.3) { await Task.yield() }
            reader.cancel()
        }
        for reader in readers { await reader.value }
    }
    // A reader that let its iterator go did not wait for the end, and perhaps not even for the beginning.
    try await eventually { gone.count == made.count }
}
