/// What Linux says of a process in files below /proc.
///
/// Dispatch reads some of them while its threads work, and ends the process where it cannot. The standard library may need them for the arguments of
/// this process, and has none where they are not there: any command would show the help, and say that all went well.
enum ProcessFiles {
    /// Sees to it that the program can begin at all.
    static func requireToBegin() throws(Failure) {
        #if os(Linux)
            guard access("/proc/\(getpid())/stat", R_OK) == 0 else {
                throw Failure(
                    .temporary,
                    "Nothing at /proc tells of this process, and it cannot work without; mount it: mount -t proc proc /proc."
                )
            }
        #endif
        guard !ProcessArguments.areUnknown else {
            throw Failure(
                .temporary,
                "This process cannot find its own arguments, so nothing was done; start it with its name and fewer files open."
            )
        }
    }
}
