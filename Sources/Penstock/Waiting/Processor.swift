#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Lets another thread have the processor that is ready to run on it; returns at once where there is none.
///
/// `Task.yield()` lets tasks go first. It does nothing for a task whose thread has lost its processor to the one that it woke.
func yieldProcessor() { _ = sched_yield() }
