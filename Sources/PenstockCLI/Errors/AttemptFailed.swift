/// What a worker is told of an attempt that failed and may be made again.
struct AttemptFailed: Error, CustomStringConvertible {
    var description: String
}
