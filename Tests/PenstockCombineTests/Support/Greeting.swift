import PenstockCombine
import Testing

@testable import PenstockPublishers

/// Expects that a subscriber to which another thread brings the end while it is given its subscription hears of it when
/// that is over: it is told one thing at a time.
func expectTheEndToWaitForTheSubscription<Operated: Publisher>(_ operated: Operated, _ end: @escaping () -> Void) {
    let heard = Guarded<[String]>([])
    operated.subscribe(
        AnySubscriber(
            receiveSubscription: { _ in
                heard.withLock { $0.append("subscription") }
                onAnotherThread(end)()
                heard.withLock { $0.append("subscribed") }
            },
            receiveCompletion: { _ in heard.withLock { $0.append("end") } }))
    #expect(heard.withLock { $0 } == ["subscription", "subscribed", "end"])
}
