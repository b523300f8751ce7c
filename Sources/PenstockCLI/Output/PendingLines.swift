/// Lines that are to be written, up to a number of bytes: what nobody reads must not fill the memory.
struct PendingLines {
    /// More than a second's lines of a busy worker.
    static let bytesMax = 1 << 20

    private var bytes: [UInt8] = []
    private var leftOut = 0
    /// Whether somebody is about to take them.
    private var isAwaited = false

    /// Adds a line, or leaves it out when there is no room.
    ///
    /// - Returns: whether the caller has to see to it that they are taken.
    mutating func add(_ line: String) -> Bool {
        if bytes.count + line.utf8.count < Self.bytesMax {
            bytes += line.utf8
            bytes.append(UInt8(ascii: "\n"))
        } else {
            leftOut += 1
        }
        defer { isAwaited = true }
        return !isAwaited
    }

    /// All of them, oldest first, and how many were left out.
    mutating func take() -> (bytes: [UInt8], leftOut: Int) {
        defer { self = PendingLines() }
        return (bytes, leftOut)
    }
}
