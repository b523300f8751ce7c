import Synchronization

/// How many files this process may have open at once.
///
/// A process that runs into that bound while it starts commands fails in the middle of it, and costs messages their
/// attempts. So the bound is looked at before anything is claimed.
package enum OpenFiles {
    /// For each command: its pipes and its guardian's, a handle on each of the two processes, and some while it starts.
    private static let countPerCommand = 8
    /// For everything else: the store, its readers, and what the runtime holds.
    private static let countBesides = 64

    /// What a server has besides its connections: the store and its readers, its threads, and what the runtime opens for a moment, which
    /// ends the process when it cannot.
    private static let countBesidesConnections = 160
    /// Fewer connections are no server.
    private static let connectionCountMin = 16

    /// Fewer than this, and the runtime ends the process before anything can be said.
    private static let countMin: rlim_t = 32

    /// So many of them are there to be opened, besides the standard streams.
    private static let countToBegin = Int(countMin) - 3

    /// Sees to it that the program can begin at all, also where whoever started it has left files open for it.
    static func makeRoomToBegin() throws(Failure) {
        if let allowed = limitWhenRaising(to: countMin) {
            throw Failure(
                .temporary,
                "This process may have \(allowed) files open, and needs \(countMin); raise the bound with `ulimit -n`.")
        }
        let (free, inherited) = places(upTo: countToBegin)
        inheritedCount.withLock { $0 = inherited }
        var bound = rlimit()
        guard free < countToBegin, getrlimit(resource, &bound) == 0,
            limitWhenRaising(to: bound.rlim_cur + rlim_t(countToBegin - free)) != nil
        else { return }
        throw Failure(
            .temporary,
            "This process may open \(free) files more, and needs \(countToBegin); start it with fewer open, or raise the bound with "
                + "`ulimit -n`.")
    }

    /// Files that this process was started with, besides the standard streams: they take places as long as it runs.
    private static let inheritedCount = Mutex(0)

    /// How many files more can be opened, counted no further than `most`, and how many are open below those. To be called before anything is
    /// opened.
    private static func places(upTo most: Int) -> (free: Int, inherited: Int) {
        var taken: [Int32] = []
        defer { for descriptor in taken { _ = systemClose(descriptor) } }
        while taken.count < most {
            let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { break }
            taken.append(descriptor)
        }
        // Each has got the lowest number that was free.
        return (taken.count, taken.last.map { Int($0) - 2 - taken.count } ?? 0)
    }

    /// How many places `count` take together with what is open besides.
    private static func needed(_ count: Int) -> rlim_t { rlim_t(count + inheritedCount.withLock { $0 }) }

    /// Sees to it that `count` commands can run at once.
    static func makeRoom(forCommands count: Int) throws(Failure) {
        let needed = Self.needed(countBesides + countPerCommand * count)
        guard let allowed = limitWhenRaising(to: needed) else { return }
        throw Failure(
            .usage,
            "--concurrency \(count) may take \(needed) open files, and this process may have \(allowed); lower it, "
                + "or raise the bound with `ulimit -n`.")
    }

    /// Sees to it that `count` connections can be open at once, or as many as the system lets this process have.
    ///
    /// - Returns: how many that are.
    /// - Throws: ``Failure`` when they are too few for a server.
    package static func makeRoom(forConnections count: Int) throws -> Int {
        guard let allowed = limitWhenRaising(to: needed(countBesidesConnections + count)) else { return count }
        _ = limitWhenRaising(to: allowed)
        let left = Int(allowed) - Int(needed(countBesidesConnections))
        guard left >= connectionCountMin else {
            throw Failure(
                .temporary,
                "This process may have \(allowed) files open, and a server needs \(needed(countBesidesConnections + connectionCountMin)); "
                    + "raise the bound with `ulimit -n`.")
        }
        return left
    }

    /// Raises the bound to `needed` where it is lower.
    ///
    /// - Returns: when that is not allowed, how far it may be raised; `nil` when the bound is high enough.
    private static func limitWhenRaising(to needed: rlim_t) -> rlim_t? {
        var bound = rlimit()
        guard getrlimit(resource, &bound) == 0, bound.rlim_cur < needed else { return nil }
        let allowed = limitMax(bound)
        bound.rlim_cur = needed
        return needed <= allowed && setrlimit(resource, &bound) == 0 ? nil : allowed
    }

    /// How far `bound` may be raised.
    private static func limitMax(_ bound: rlimit) -> rlim_t {
        #if canImport(Darwin)
            // The system says that there is no end, and refuses more than this.
            var count: Int32 = 0
            var size = MemoryLayout<Int32>.size
            if sysctlbyname("kern.maxfilesperproc", &count, &size, nil, 0) == 0, count > 0 {
                return min(bound.rlim_max, rlim_t(count))
            }
        #endif
        return bound.rlim_max
    }

    /// What stands in the way of a command that is to be started, when the bound has fallen below what ``makeRoom(forCommands:)``
    /// has seen to.
    ///
    /// The library that starts processes is never to meet the bound: it may close descriptors then that are not its own any more.
    static func shortage(forCommands count: Int) -> Shortage? {
        var bound = rlimit()
        guard getrlimit(resource, &bound) == 0, bound.rlim_cur < needed(countBesides + countPerCommand * count) else {
            return nil
        }
        return Shortage(Errno.tooManyOpenFiles)
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
}
