import Foundation
import PenstockCombine
import Testing

@testable import PenstockPublishers

/// Its subscription stays in `request` until it may return, and counts the calls that come meanwhile.
final class SlowUpstream: Publisher, Subscription {
    typealias Output = Int
    typealias Failure = Never

    let isAsked = DispatchSemaphore(value: 0)
    let mayReturn = DispatchSemaphore(value: 0)
    private let calls = Guarded((underWay: 0, overlaps: 0, cancels: 0))

    var overlaps: Int { calls.withLock { $0.overlaps } }
    var cancels: Int { calls.withLock { $0.cancels } }

    func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Int, Downstream.Failure == Never {
        subscriber.receive(subscription: self)
    }

    func request(_ demand: Subscribers.Demand) {
        begin()
        isAsked.signal()
        mayReturn.wait()
        calls.withLock { $0.underWay -= 1 }
    }

    func cancel() {
        begin()
        calls.withLock { calls in
            calls.cancels += 1
            calls.underWay -= 1
        }
    }

    private func begin() {
        calls.withLock { calls in
            if calls.underWay > 0 { calls.overlaps += 1 }
            calls.underWay += 1
        }
    }
}

extension SlowUpstream {
    /// Expects that the thread that asks is the one that cancels, when another one cancels `operated` meanwhile.
    static func expectTheThreadThatAsksToCancel<Operated: Publisher>(
        _ operated: (SlowUpstream) -> Operated
    ) {
        let slow = SlowUpstream()
        let probe = Probe<Operated.Output, Operated.Failure>()
        operated(slow).subscribe(probe)
        let wait = onAnotherThread { probe.request(1) }
        slow.isAsked.wait()
        probe.cancel()
        #expect(slow.cancels == 0)
        slow.mayReturn.signal()
        wait()
        #expect(slow.cancels == 1)
        #expect(slow.overlaps == 0)
    }

    /// Expects that the thread that asks is the one that asks for more, when another one asks `operated` meanwhile.
    static func expectTheThreadThatAsksToAskForMore<Operated: Publisher>(
        _ operated: (SlowUpstream) -> Operated
    ) {
        let slow = SlowUpstream()
        let probe = Probe<Operated.Output, Operated.Failure>()
        operated(slow).subscribe(probe)
        let wait = onAnotherThread { probe.request(1) }
        slow.isAsked.wait()
        probe.request(1)
        slow.mayReturn.signal()
        slow.isAsked.wait()
        slow.mayReturn.signal()
        wait()
        #expect(slow.overlaps == 0)
    }
}

/// Runs a closure on a thread of its own. Returns what waits until that has ended.
func onAnotherThread(_ body: @escaping () -> Void) -> () -> Void {
    let body = Shared(body)
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body.value()
        hasEnded.signal()
    }
    return { hasEnded.wait() }
}
