/// How long this process has waited for what writing needs, since it opened the store.
///
/// They tell a slow disk (``flush``) from another process that writes for long (``writerLock``). They are this process's alone, and in
/// no file.
public struct StoreTimings: Hashable, Sendable {
    /// How long the disk took to have what was committed, flush by flush. One flush is for all calls that wait for it.
    public var flush = LatencyHistogram()
    /// How long each transaction waited for other processes to be done writing; mostly nothing.
    public var writerLock = LatencyHistogram()

    /// Makes one of nothing.
    public init() {}
}
