/// The executor that the running task prefers. An operator's tasks belong to the consumer that began the stream, so
/// they run where that one runs, as its child tasks would.
///
/// On Apple systems before 26.4 it cannot be found out, and the tasks run on the global executor.
@inlinable package func preferredExecutor() -> (any TaskExecutor)? {
    #if compiler(>=6.3)
        guard #available(macOS 26.4, iOS 26.4, watchOS 26.4, tvOS 26.4, visionOS 26.4, *) else { return nil }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
    #else
        return nil
    #endif
}
