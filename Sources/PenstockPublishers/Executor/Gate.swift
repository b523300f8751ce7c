internal import Dispatch

/// Lets nobody through until it is opened, and everybody from then on.
final class Gate: Sendable {
    private let isClosed = DispatchSemaphore(value: 0)

    /// Opens the gate. May be called again.
    func open() {
        isClosed.signal()
    }

    /// Blocks the thread while the gate is closed.
    func pass() {
        isClosed.wait()
        // For the next one.
        isClosed.signal()
    }
}
