internal import Synchronization

/// Lets a conduit's engine call the conduit, which owns it.
final class Relay<Target: AnyObject & Sendable>: Sendable {
    private struct Link {
        weak var target: Target?
    }

    private let link = Mutex(Link())

    /// The object that is called; `nil` when it is gone.
    var target: Target? {
        get { link.withLock { $0.target } }
        set { link.withLock { $0.target = newValue } }
    }
}
