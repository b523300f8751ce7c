@_exported public import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A lock that the thread sanitizer can see. It does not see into the one of the standard library, and takes what that
/// protects for a race. `tools/sanitize` puts this one in its place, in a copy of the sources.
public struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    private final class Box {
        let lock: UnsafeMutablePointer<pthread_mutex_t>
        var value: Value

        init(_ value: Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            self.value = value
        }

        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }
    }

    private let box: Box

    /// Makes a lock around `value`.
    public init(_ value: consuming sending Value) {
        box = Box(value)
    }

    /// Runs `body` with the value, one at a time.
    public borrowing func withLock<Answer, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        pthread_mutex_lock(box.lock)
        defer { pthread_mutex_unlock(box.lock) }
        return try body(&box.value)
    }
}
