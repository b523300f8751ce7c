import PenstockCombine
import Testing

@Suite struct ShadowTests {
    @Test func theExactBufferIsTheOneThatIsMeant() {
        let subject = PassthroughSubject<Int, Never>()
        let buffered = subject.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        #expect(type(of: buffered) == Publishers.ExactBuffer<PassthroughSubject<Int, Never>>.self)
        let twice = (1...10).publisher.map { "\($0)" }.buffer(size: 4, prefetch: .byRequest, whenFull: .dropOldest)
            .eraseToAnyPublisher().buffer(size: 4, prefetch: .byRequest, whenFull: .dropOldest)
        #expect(type(of: twice) == Publishers.ExactBuffer<AnyPublisher<String, Never>>.self)
        #expect("\(type(of: generic(subject)))".hasPrefix("ExactBuffer<"))
    }

    private func generic(_ publisher: some Publisher<Int, Never> & SendableMetatype) -> some Publisher {
        publisher.buffer(size: 4, prefetch: .byRequest, whenFull: .dropOldest)
    }

    @Test func theExactDelayIsTheOneThatIsMeant() {
        let delayed = Just(1).delay(for: 1, scheduler: VirtualScheduler())
        #expect(type(of: delayed) == Publishers.ExactDelay<Just<Int>, VirtualScheduler>.self)
    }
}
