import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct AsyncPassthroughSubjectTests {

    let executor = IdleExecutor(isSerial: false)

    private func read(
        _ subject: AsyncPassthroughSubject<Int, Broken>, onEach: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> Task<(values: [Int], failure: Broken?), Never> {
        Task(executorPreference: executor) {
            var values: [Int] = []
            do throws(Broken) {
                for try await value in subject {
                    values.append(value)
                    await onEach(value)
                }
                return (values, nil)
            } catch {
                return (values, error)
            }
        }
    }

    @Test func everySubscriberThatWaitsGetsIt() async {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        #expect(subject.send(0) == 0)
        let readers = [read(subject), read(subject)]
        for value in 1...3 {
            await executor.waitUntilIdle()
            #expect(subject.send(value) == 2)
        }
        subject.finish()
        for reader in readers { #expect(await reader.value == ([1, 2, 3], nil)) }
        #expect(subject.subscriberCount == 0)
    }

    @Test func aBusySubscriberLosesWhatItDidNotAskFor() async {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        let clock = ManualClock()
        let busy = read(subject) { _ in try? await clock.sleep(for: .seconds(2)) }
        let quick = read(subject)
        for value in 1...5 {
            await executor.waitUntilIdle()
            subject.send(value)
            await executor.run(clock, to: .init(offset: .seconds(value)))
        }
        subject.fail(Broken())
        #expect(await quick.value == ([1, 2, 3, 4, 5], Broken()))
        await executor.run(clock)
        #expect(await busy.value == ([1, 3, 5], Broken()))
    }

    @Test func aNewcomerAfterTheEndIsToldOfIt() async {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        subject.fail(Broken(name: "first"))
        subject.finish()
        #expect(await read(subject).value == ([], Broken(name: "first")))
        #expect(subject.send(1) == 0)
    }

    @Test func aSubjectThatIsLetGoFinishes() async throws {
        func subscription() -> AsyncPassthroughSubject<Int, Broken>.AsyncIterator {
            AsyncPassthroughSubject<Int, Broken>().makeAsyncIterator()
        }
        var iterator = subscription()
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellingEndsTheSubscription() async {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        let reader = read(subject)
        await executor.waitUntilIdle()
        #expect(subject.subscriberCount == 1)
        reader.cancel()
        #expect(await reader.value == ([], nil))
        #expect(subject.subscriberCount == 0)
    }

    @Test func lettingTheIteratorGoEndsTheSubscription() {
        let subject = AsyncPassthroughSubject<Int, Broken>()
        _ = subject.makeAsyncIterator()
        #expect(subject.subscriberCount == 0)
    }

    @Test func tenThousandRacesOfSubscribingSendingAndCancelling() async throws {
        let subject = AsyncPassthroughSubject<Int, Never>()
        let sender = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                subject.send(number)
                await Task.yield()
            }
        }
        try await raceCancellations(subject, made: Tally(), gone: Tally()) { $0 }
        sender.cancel()
        await sender.value
        #expect(subject.subscriberCount == 0)
    }
}
