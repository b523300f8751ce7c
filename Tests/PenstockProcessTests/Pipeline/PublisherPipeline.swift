import PenstockPublishers

/// The pipeline as publishers. Its source is asked for as many numbers as there is room for, and so loses none.
enum PublisherPipeline {
    static func run(_ numbers: Range<Int>, in queue: Queue<Int>) async throws {
        let written = numbers.publisher
            .buffer(size: 20, in: queue)
            .flatMap(maxPublishers: .max(8)) { number in Just(writeLine(number)) }
        for try await _ in written.values {}
    }
}
