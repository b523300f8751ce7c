/// How wide help is.
enum HelpWidth {
    /// The parser writes what it says of an option behind the 26th column, and ends the process where the terminal has none there.
    private static let columnsMin = 40

    /// For the parser; `nil`: as it finds the terminal.
    static var columns: Int? {
        // As the parser does it: what the environment says goes first.
        guard let found = columnsOfEnvironment ?? columnsOfTerminal, found < columnsMin else { return nil }
        return columnsMin
    }

    private static var columnsOfEnvironment: Int? { getenv("COLUMNS").flatMap { Int(String(cString: $0)) } }

    /// `nil`: standard output is no terminal, or one that does not say.
    private static var columnsOfTerminal: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
