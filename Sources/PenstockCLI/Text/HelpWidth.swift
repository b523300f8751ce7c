/// How wide help is.
enum HelpWidth {
    /// The parser writes what it says of an option behind the 26th column, and ends the process where the terminal has none there.
    private static let columnsMin = 40

    /// Has the parser find so many columns. It writes help already as it is asked for an exit status, and looks for the width by itself. This
    /// changes the environment: for a process that ends after it has said something, and starts no other.
    static func widen() {
        // As the parser does it: what the environment says goes first.
        guard let found = columnsOfEnvironment ?? columnsOfTerminal, found < columnsMin else { return }
        setenv("COLUMNS", String(columnsMin), 1)
    }

    private static var columnsOfEnvironment: Int? { getenv("COLUMNS").flatMap { Int(String(cString: $0)) } }

    /// `nil`: standard output is no terminal, or one that does not say.
    private static var columnsOfTerminal: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
