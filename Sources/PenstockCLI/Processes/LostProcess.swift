/// A process that was started, and whose end the library does not see: it says so, or would wait for ever. Of others it may see no end either.
struct LostProcess: Error {
    /// Why its end is not seen.
    var reason = "the system had no descriptor for it, and it was killed"

    /// What ends the worker of the command `name`. What the process was to do may be done, so it is not started again here.
    func failure(of name: String) -> Failure {
        Failure(
            .software,
            "The command '\(name)' was started, and how it ended cannot be seen (\(reason)); start the worker anew.")
    }
}
