import PenstockSQL
import Testing

/// What the writer keeps in memory of queues.
@Suite struct PolicyCacheTests {
    /// A program may have a queue for each of its customers' jobs, or for each subscriber, and run for months.
    @Test func ofQueuesThatComeAndGoNothingStays() {
        var now = ContinuousClock.now
        let cache = PolicyCache(now: { now })
        for id in Int64(1)...1000 {
            cache.validate(at: id)
            cache.looksAtWholeLine(of: id)
            #expect(cache.trustsLineStart(of: id))
            now += .seconds(1)
        }
        #expect(cache.wholeLookCount <= 11)
        #expect(cache.trustsLineStart(of: 999))
        #expect(!cache.trustsLineStart(of: 900))
    }
}
