#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls of the operating system.
package enum SystemCall {
    /// What `call` returns when no signal interrupts it: until then it is made again. A number below 0 says that it failed, and `errno` why.
    ///
    /// The program that has this library in it may handle a signal so that it ends the call in which it meets a thread (without
    /// `SA_RESTART`). That is no fault of the file, so each call that opens, makes, reads, writes or flushes one is made through this, and
    /// each that asks for a child.
    @inlinable
    @discardableResult
    package static func uninterrupted<Number: SignedInteger>(_ call: () -> Number) -> Number {
        while true {
            let number = call()
            if number >= 0 || errno != EINTR { return number }
        }
    }
}
