import PenstockStreams
import PenstockTestKit

/// An upstream whose elements name the inner sources, and those sources.
struct FlatMapFixture: Sendable {
    typealias Source = ManualSource<Int>

    let upstream = Source()
    let inner: [Source] = (0..<8).map { _ in Source() }

    func flatMap(maxConcurrent: Int) -> FlatMapSequence<Source, Source, Source.Failure> {
        let inner = inner
        return upstream.flatMap(maxConcurrent: maxConcurrent) { inner[$0] }
    }
}
