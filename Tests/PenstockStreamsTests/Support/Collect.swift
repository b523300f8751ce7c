import PenstockTestKit

/// Reads the sequence to its end in a task of its own, counting what came.
func collect<Failure: Error>(
    _ sequence: some AsyncSequence<Int, Failure> & Sendable, _ came: Tally = Tally()
) -> Task<(values: [Int], failure: Failure?), Never> {
    Task {
        var values: [Int] = []
        do throws(Failure) {
            var iterator = sequence.makeAsyncIterator()
            while let value = try await iterator.next(isolation: nil) {
                values.append(value)
                came.add()
            }
            return (values, nil)
        } catch {
            return (values, error)
        }
    }
}
