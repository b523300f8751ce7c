import PenstockProcesses

/// How many threads this process may have.
///
/// Swift's tasks run on threads of Dispatch, which says nothing when the system makes none and tries again for as long as
/// it takes. So the system is asked before anything runs.
enum Threads {
    /// As many as a command has at once, besides one for each processor: the store's, and those that start processes and
    /// wait for them.
    private static let countBesides = 12
    /// The bound counts processes as well: a command, its guardian, and what the command starts.
    private static let countPerCommand = 4

    private static var countMin: Int { countBesides + max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Sees to it that the program can begin at all.
    static func makeRoomToBegin() throws(Failure) {
        guard let (made, needed) = shortage(of: countMin) else { return }
        throw Failure(
            .temporary,
            "This process may have \(made) threads more, and needs \(needed); raise the bound with `ulimit -u`, or end "
                + "some processes.")
    }

    private static func shortage(of needed: Int) -> (made: Int, needed: Int)? {
        let made = SystemThread.made(upTo: needed)
        return made < needed ? (made, needed) : nil
    }

    /// Sees to it that `count` commands can run at once, and leave this process its threads.
    static func makeRoom(forCommands count: Int) throws(Failure) {
        guard let (made, needed) = shortage(of: countMin + countPerCommand * count) else { return }
        throw Failure(
            .temporary,
            "--concurrency \(count) may take \(needed) threads and processes, and this process may have \(made) more; "
                + "lower it, raise the bound with `ulimit -u`, or end some processes.")
    }
}
