/// Sees what no process rings for: what other programs write into the file, rings that were lost with the process that
/// owed them, workers that died and leases that ended. It belongs to one thread.
package protocol ChangePolling {
    /// Looks.
    ///
    /// - Parameter forTheDead: whether to ask the kernel which workers live.
    func look(forTheDead: Bool) throws -> ChangesSeen

    /// Lets go of the file.
    func close()
}

/// Sees nothing: a server is asked another way for what nobody rings for, and a test may want to hear rings alone.
package struct NothingElse: ChangePolling {
    package init() {}

    package func look(forTheDead: Bool) -> ChangesSeen { ChangesSeen() }

    package func close() {}
}

/// What a look saw.
package struct ChangesSeen {
    /// Whether anything was committed since the last look.
    package var hasChanged = false
    /// Buckets where messages wait, in line or for their time; empty unless something has changed.
    package var buckets: [Int] = []
    /// Whether messages have to be put back in line.
    package var hasLostWork = false
    /// How long it is until the end of a lease has to be looked at.
    package var nextEnd: Duration?

    /// Makes the answer of a look that saw nothing.
    package init() {}
}
