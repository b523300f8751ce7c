/// The end of the program from somewhere inside it.
enum ProgramEnd {
    /// Ends the process now, whatever else runs in it, and says why if it failed.
    static func now(_ failure: Failure?) -> Never {
        failure?.say()
        ErrorOutput.flush()
        exit((failure?.status ?? .done).rawValue)
    }
}
