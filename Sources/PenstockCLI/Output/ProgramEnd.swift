internal import CPenstockSystem

/// The end of the program from somewhere inside it.
enum ProgramEnd {
    /// Ends the process now, whatever else runs in it, and says why if it failed.
    static func now(_ failure: Failure?) -> Never {
        failure?.say()
        ErrorOutput.flush()
        exit((failure?.status ?? .done).rawValue)
    }

    /// Ends the process as that signal does where nobody follows it.
    static func by(_ number: Int32) -> Never {
        ErrorOutput.flush()
        penstock_end_by_signal(number)
        // A signal does not end the first process of a container.
        exit(128 + number)
    }
}
