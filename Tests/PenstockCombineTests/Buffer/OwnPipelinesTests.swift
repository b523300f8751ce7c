import Dispatch
import PenstockPublishers
import Testing

/// A program that imports PenstockPublishers alone keeps the operators that its pipelines had.
@Suite struct OwnPipelinesTests {
    @Test func bufferAndDelayStayWhatTheyWere() {
        let subject = PassthroughSubject<Int, Never>()
        let buffered = subject.buffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        #expect(type(of: buffered) == Publishers.Buffer<PassthroughSubject<Int, Never>>.self)
        let delayed = subject.delay(for: .seconds(1), scheduler: DispatchQueue.main)
        #expect("\(type(of: delayed))".hasPrefix("Delay<"))
    }

    @Test func theExactOnesHaveNamesOfTheirOwn() {
        let subject = PassthroughSubject<Int, Never>()
        let buffered = subject.exactBuffer(size: 4, prefetch: .keepFull, whenFull: .dropNewest)
        #expect(type(of: buffered) == Publishers.ExactBuffer<PassthroughSubject<Int, Never>>.self)
        let delayed = subject.exactDelay(for: .seconds(1), scheduler: DispatchQueue.main)
        #expect("\(type(of: delayed))".hasPrefix("ExactDelay<"))
    }
}
