/// The end of the program from somewhere inside it.
enum ProgramEnd {
    /// Ends the process now, whatever else runs in it, and says why if it failed.
    static func now(_ failure: Failure?) -> Never {
        if let failure { ErrorOutput.line(failure.line) }
        ErrorOutput.flush()
        exit((failure?.status ?? .done).rawValue)
    }
}
