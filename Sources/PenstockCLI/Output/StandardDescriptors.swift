/// The numbers 0, 1 and 2, which some programs start others without (`penstock … <&- >&-`).
///
/// Were they left free, the next file to be opened would get one of them: what is meant for standard output would
/// then go into a file of the store, and commands would inherit it.
enum StandardDescriptors {
    /// Puts something in each place that is free, from which nothing can be read and to which nothing can be written:
    /// a call that tries gets the error that a closed descriptor gives. To be called before anything is opened.
    static func occupy() {
        for (number, uselessMode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(number, F_GETFD) == -1 {
            // It gets the lowest number that is free, which is this one, for those below are taken by now.
            _ = open("/dev/null", uselessMode)
        }
    }
}
