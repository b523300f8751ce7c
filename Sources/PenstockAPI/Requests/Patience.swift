import PenstockCore

/// For how long somebody still waits.
struct Patience: Sendable {
    let time: any TimeSource
    private let end: Int64

    init(_ duration: Duration, _ time: any TimeSource) {
        self.time = time
        end = time.boot.microseconds + duration.wholeMicroseconds
    }

    /// What is left; `nil` when the time is over.
    var left: Duration? {
        let left = end - time.boot.microseconds
        return left > 0 ? .microseconds(left) : nil
    }
}
