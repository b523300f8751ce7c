package import PenstockCore

/// An engine whose stores tests are given in place of the one in memory: of what is built on a store, such as workers and streams,
/// the same has to be true on all of them.
///
/// It is a database of its own, empty, that stands while it or one of its stores is there.
package protocol TestEngine: AnyObject, Sendable {
    /// Makes an empty database.
    ///
    /// - Parameters:
    ///   - time: the clocks of its stores.
    ///   - random: where lease tokens and the jitter of retries come from.
    init(time: any TimeSource, random: any RandomSource) throws

    /// Opens one more store on it: to the others it is another process.
    func open() async throws -> any MessageStore

    /// The store's process dies: it gives nothing back, and others can see that it is gone.
    func crash(_ store: any MessageStore) async throws
}
