internal import PenstockStreams

/// Reads a sequence into a log.
enum SequenceSource {
    /// Reads `base` from its beginning until its end, or until the task is cancelled.
    static func run<Base: AsyncSequence & Sendable>(
        _ base: Base, into feed: LogFeed<Base.Element>
    ) async -> LogEnding where Base.Element: Sendable {
        await feed.run { await read(base, into: feed) }
    }

    private static func read<Base: AsyncSequence & Sendable>(
        _ base: Base, into feed: LogFeed<Base.Element>
    ) async -> LogEnding where Base.Element: Sendable {
        var ending = LogEnding.finished
        var upstream = base.makeAsyncIterator()
        // A source that loses what nobody has asked for is asked for as much as may be under way.
        let request = (upstream as? any DemandedIterator)?.request
        request?(LogFeed<Base.Element>.underWayMax)
        while !Task.isCancelled {
            let element: Base.Element
            do {
                guard let next = try await upstream.next(isolation: nil) else { break }
                element = next
            } catch {
                ending = .failed(error)
                break
            }
            do {
                try await feed.take(element)
            } catch {
                await upstream.closeIfNeeded()
                return .broken(error)
            }
            request?(1)
        }
        await upstream.closeIfNeeded()
        return await feed.finish(ending)
    }
}
