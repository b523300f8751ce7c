package import PenstockCore

/// For how long somebody still waits.
package struct Patience: Sendable {
    package let time: any TimeSource
    private let end: Int64

    package init(_ duration: Duration, _ time: any TimeSource) {
        self.time = time
        end = time.boot.microseconds + duration.wholeMicroseconds
    }

    /// What is left; `nil` when the time is over.
    package var left: Duration? {
        let left = end - time.boot.microseconds
        return left > 0 ? .microseconds(left) : nil
    }
}
