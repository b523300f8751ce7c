import Synchronization

/// Values that came, on whatever thread.
final class Received: Sendable {
    private let inside = Mutex<[Int]>([])

    var values: [Int] { inside.withLock { $0 } }

    func append(_ value: Int) {
        inside.withLock { $0.append(value) }
    }
}
