/// What is gathered of what a command writes, without ever taking more memory than it may.
protocol OutputGathering: Sendable {
    mutating func append(_ more: [UInt8])
}

extension ErrorTail: OutputGathering {}

/// What a command wrote to its standard output, to be kept as its message's result: all of it, or none.
struct KeptOutput: OutputGathering, Hashable {
    let bytesMax: Int
    /// Its bytes, unless they are too many.
    private(set) var bytes: [UInt8] = []
    private(set) var isTooLong = false

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    mutating func append(_ more: [UInt8]) {
        if !isTooLong, more.count <= bytesMax - bytes.count {
            bytes.append(contentsOf: more)
        } else {
            isTooLong = true
            bytes = []
        }
    }
}
